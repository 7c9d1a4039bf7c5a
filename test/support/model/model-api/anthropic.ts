/** Anthropic Messages: Claude Code. */
import { type Answer, type Dialect, event, id, pieces } from "./dialect.ts";

interface Block {
  type: string;
  text?: string;
}

interface Message {
  role: string;
  content: string | Block[];
}

interface Body {
  model: string;
  stream?: boolean;
  messages: Message[];
  tools?: { name: string }[];
}

const KINDS: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

export const anthropic: Dialect = {
  name: "anthropic",
  path: /\/v1\/messages$/,
  cacheWrites: true,
  read(given) {
    const { model, stream = false, messages, tools = [] } = given as Body;
    const behindPrompt = messages.slice(messages.findLastIndex(isPrompt) + 1);
    const results = behindPrompt.flatMap(blocks).filter(({ type }) => type === "tool_result");
    return { model, stream, step: results.length, tools };
  },
  stream(answer) {
    const message = wrap(answer);
    const send = (type: string, more: object): string => event({ type, ...more }, type);
    const start = { ...message, content: [], stop_reason: null, usage: { ...message.usage, output_tokens: 1 } };
    return [
      send("message_start", { message: start }),
      ...message.content.flatMap((block, index) => [
        send("content_block_start", { index, content_block: block.empty }),
        ...block.deltas.map((delta) => send("content_block_delta", { index, delta })),
        send("content_block_stop", { index }),
      ]),
      send("message_delta", {
        delta: { stop_reason: message.stop_reason, stop_sequence: null },
        usage: { output_tokens: answer.usage.output },
      }),
      send("message_stop", {}),
    ];
  },
  whole(answer) {
    const message = wrap(answer);
    return { ...message, content: message.content.map(({ full }) => full) };
  },
  failure: (status, message) => ({
    type: "error",
    error: { type: KINDS[status] ?? "api_error", message },
    request_id: id("req_"),
  }),
};

const blocks = ({ content }: Message): Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** The client adds reminders to messages that carry tool results; they are no prompt. */
function isPrompt(message: Message): boolean {
  return (
    message.role === "user" &&
    blocks(message).some(({ type, text }) => type === "text" && !/^\s*<system-reminder>/.test(text ?? ""))
  );
}

function wrap({ model, think, say, call, usage }: Answer) {
  const content: { empty: object; deltas: object[]; full: object }[] = [];
  if (think !== "")
    content.push({
      empty: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        { type: "thinking_delta", thinking: think },
        { type: "signature_delta", signature: "c2lnbmVk" },
      ],
      full: { type: "thinking", thinking: think, signature: "c2lnbmVk" },
    });
  if (say !== "")
    content.push({
      empty: { type: "text", text: "" },
      deltas: pieces(say).map((text) => ({ type: "text_delta", text })),
      full: { type: "text", text: say },
    });
  if (call !== null) {
    const use = { type: "tool_use", id: id("toolu_"), name: call.name };
    content.push({
      empty: { ...use, input: {} },
      deltas: pieces(JSON.stringify(call.input)).map((part) => ({ type: "input_json_delta", partial_json: part })),
      full: { ...use, input: call.input },
    });
  }
  return {
    id: id("msg_"),
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: call === null ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_read_input_tokens: usage.cache_read,
      cache_creation_input_tokens: usage.cache_write,
    },
  };
}
