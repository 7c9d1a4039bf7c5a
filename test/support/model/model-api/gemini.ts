/** Gemini generateContent and streamGenerateContent: Gemini CLI. The model stands in the path. */
import { type Answer, type Dialect, event, id, pieces } from "./dialect.ts";

interface Content {
  role?: string;
  parts?: { functionResponse?: unknown }[];
}

interface Body {
  contents?: Content[];
  tools?: { functionDeclarations?: { name: string }[] }[];
}

const STATES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
};

export const gemini: Dialect = {
  name: "gemini",
  path: /\/models\/[^/]+:(?:stream)?[gG]enerateContent$/,
  cacheWrites: false,
  read(given, path) {
    const { contents = [], tools = [] } = given as Body;
    const isPrompt = (content: Content): boolean => content.role !== "model" && results(content) === 0;
    const behindPrompt = contents.slice(contents.findLastIndex(isPrompt) + 1);
    return {
      model: /\/models\/([^/:]+):/.exec(path)?.[1] ?? "",
      stream: path.includes(":stream"),
      step: behindPrompt.reduce((sum, content) => sum + results(content), 0),
      tools: tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations),
    };
  },
  stream(answer) {
    const { base, thought, call, usageMetadata } = wrap(answer);
    const chunk = (parts: object[], more: object = {}): string =>
      event({ candidates: [{ index: 0, content: { role: "model", parts }, ...more }], ...base, usageMetadata });
    return [
      ...thought.map((part) => chunk([part])),
      ...pieces(answer.say).map((text) => chunk([{ text }])),
      chunk(call.length > 0 ? call : [{ text: "" }], { finishReason: "STOP" }),
    ];
  },
  whole(answer) {
    const { base, thought, call, usageMetadata } = wrap(answer);
    const parts = [...thought, ...(answer.say === "" ? [] : [{ text: answer.say }]), ...call];
    const candidates = [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }];
    return { candidates, ...base, usageMetadata };
  },
  failure: (status, message) => ({ error: { code: status, message, status: STATES[status] ?? "UNAVAILABLE" } }),
};

function results({ parts = [] }: Content): number {
  return parts.filter(({ functionResponse }) => functionResponse !== undefined).length;
}

function wrap({ model, think, call, usage }: Answer) {
  const promptTokenCount = usage.input + usage.cache_read;
  return {
    base: { modelVersion: model, responseId: id("") },
    thought: think === "" ? [] : [{ text: think, thought: true }],
    call:
      call === null
        ? []
        : [{ functionCall: { id: id("call-"), name: call.name, args: call.input }, thoughtSignature: "c2lnbmVk" }],
    usageMetadata: {
      promptTokenCount,
      cachedContentTokenCount: usage.cache_read,
      candidatesTokenCount: usage.output,
      totalTokenCount: promptTokenCount + usage.output,
    },
  };
}
