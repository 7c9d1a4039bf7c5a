/** OpenAI Chat Completions: OpenCode, and every provider that calls itself compatible. */
import { type Answer, type Dialect, event, id, pieces } from "./dialect.ts";
import { openAiFailure } from "./openai.ts";

interface Body {
  model: string;
  stream?: boolean;
  messages: { role: string }[];
  tools?: { function: { name: string } }[];
}

export const chat: Dialect = {
  name: "chat",
  path: /\/chat\/completions$/,
  cacheWrites: false,
  read(given) {
    const { model, stream = false, messages, tools = [] } = given as Body;
    const behindPrompt = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    const step = behindPrompt.filter(({ role }) => role === "tool").length;
    return { model, stream, step, tools: tools.map((tool) => ({ name: tool.function.name })) };
  },
  stream(answer) {
    const { base, usage, finish_reason, tool_calls } = wrap(answer);
    const chunk = (delta: object, more: object = {}, reason: string | null = null): string =>
      event({
        ...base,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta, finish_reason: reason }],
        ...more,
      });
    return [
      chunk({ role: "assistant", content: "" }),
      ...pieces(answer.say).map((content) => chunk({ content })),
      ...(tool_calls.length > 0 ? [chunk({ tool_calls })] : []),
      chunk({}, { usage }, finish_reason),
      "data: [DONE]\n\n",
    ];
  },
  whole(answer) {
    const { base, usage, finish_reason, tool_calls } = wrap(answer);
    const message = { role: "assistant", content: answer.say, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
    return { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage };
  },
  failure: openAiFailure,
};

function wrap({ model, call, usage }: Answer) {
  const prompt_tokens = usage.input + usage.cache_read;
  return {
    base: { id: id("chatcmpl-"), created: Math.floor(Date.now() / 1000), model },
    finish_reason: call === null ? "stop" : "tool_calls",
    tool_calls:
      call === null
        ? []
        : [
            {
              index: 0,
              id: id("call_"),
              type: "function",
              function: { name: call.name, arguments: JSON.stringify(call.input) },
            },
          ],
    usage: {
      prompt_tokens,
      prompt_tokens_details: { cached_tokens: usage.cache_read },
      completion_tokens: usage.output,
      total_tokens: prompt_tokens + usage.output,
    },
  };
}
