/** OpenAI Responses: Codex. Only streams are asked for. */
import { type Answer, type Dialect, event, id, pieces, type Tool } from "./dialect.ts";
import { openAiFailure } from "./openai.ts";

interface Body {
  model: string;
  stream?: boolean;
  input: { type?: string; role?: string }[];
  tools?: { type: string; name?: string; tools?: { name: string }[] }[];
}

export const responses: Dialect = {
  name: "responses",
  path: /\/responses$/,
  cacheWrites: false,
  read(given) {
    const { model, stream = false, input, tools = [] } = given as Body;
    const behindPrompt = input.slice(input.findLastIndex(({ role }) => role === "user") + 1);
    const step = behindPrompt.filter(({ type }) => type?.endsWith("_output")).length;
    return { model, stream, step, tools: tools.flatMap(flat) };
  },
  stream(answer) {
    const { response, output } = wrap(answer);
    const events: [type: string, more: object][] = [
      ["response.created", { response: { ...response, status: "in_progress" } }],
      ...output.flatMap((item, output_index): [string, object][] => [
        ["response.output_item.added", { output_index, item: { ...item, status: "in_progress" } }],
        ...(item.type === "message" ? pieces(answer.say) : []).map((delta): [string, object] => [
          "response.output_text.delta",
          { output_index, item_id: item.id, content_index: 0, delta },
        ]),
        ["response.output_item.done", { output_index, item }],
      ]),
      ["response.completed", { response: { ...response, status: "completed", output } }],
    ];
    return events.map(([type, more], sequence_number) => event({ type, sequence_number, ...more }, type));
  },
  whole(answer) {
    const { response, output } = wrap(answer);
    return { ...response, status: "completed", output };
  },
  failure: openAiFailure,
};

function flat({ type, name = type, tools }: NonNullable<Body["tools"]>[number]): Tool[] {
  return tools === undefined ? [{ name }] : tools.map((tool) => ({ name: tool.name, namespace: name }));
}

function wrap({ model, think, say, call, usage }: Answer) {
  const input_tokens = usage.input + usage.cache_read;
  const output: { type: string; id: string; [more: string]: unknown }[] = [];
  if (think !== "")
    output.push({
      type: "reasoning",
      id: id("rs_"),
      summary: [{ type: "summary_text", text: think }],
      encrypted_content: "ZW5jcnlwdGVk",
    });
  if (say !== "") {
    const content = [{ type: "output_text", text: say, annotations: [] }];
    output.push({ type: "message", id: id("msg_"), role: "assistant", status: "completed", content });
  }
  if (call !== null)
    output.push({
      type: "function_call",
      id: id("fc_"),
      call_id: id("call_"),
      status: "completed",
      name: call.name,
      ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
      arguments: JSON.stringify(call.input),
    });
  const response = {
    id: id("resp_"),
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    model,
    output: [],
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: usage.cache_read },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input_tokens + usage.output,
    },
  };
  return { response, output };
}
