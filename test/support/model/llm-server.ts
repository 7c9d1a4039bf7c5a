/** A model behind an API on loopback, as Anthropic's and as OpenAI's: answers as it is told, and keeps every request. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Request {
  path: string;
  headers: Record<string, unknown>;
  body: string;
}

/** A text is what the model answers; `hang` never answers. */
export type Reply =
  | string
  | "hang"
  | { status: number; headers?: Record<string, string>; body?: string }
  | ((request: Request) => Reply);

export interface LlmServer {
  url: string;
  requests: Request[];
  /** Tokens that it has counted. */
  tokens: number;
  /** What comes next, in order; the last one stays. */
  replies: Reply[];
  close(): void;
}

export const GOOD = {
  activity: "Runs the tests of the parser.",
  status: "on_track",
  confidence: 0.8,
  reasons: [] as { text: string; quote: string }[],
  alignment_keywords: ["parser", "unheard"],
  recommended_action: "Wait for the tests.",
};

export async function llmServer(...replies: Reply[]): Promise<LlmServer> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const seen = { path: request.url ?? "", headers: request.headers, body };
      made.requests.push(seen);
      let reply = made.replies.length > 1 ? made.replies.shift() : made.replies[0];
      while (typeof reply === "function") reply = reply(seen);
      if (reply !== "hang") answer(response, seen, reply ?? "");
    });
  });
  const answer = (
    response: ServerResponse,
    { path, body }: Request,
    reply: Exclude<Reply, "hang" | (() => string)>,
  ): void => {
    if (typeof reply === "object") {
      response.writeHead(reply.status, reply.headers).end(reply.body ?? "{}");
      return;
    }
    const usage = { in: Math.ceil(body.length / 4), out: Math.ceil(reply.length / 4) };
    made.tokens += usage.in + usage.out;
    const anthropic = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "fake",
      content: [{ type: "text", text: reply }],
      stop_reason: "end_turn",
      usage: { input_tokens: usage.in, output_tokens: usage.out },
    };
    const openai = {
      id: "c1",
      object: "chat.completion",
      created: 1,
      model: "fake",
      choices: [{ index: 0, message: { role: "assistant", content: reply }, finish_reason: "stop" }],
      usage: { prompt_tokens: usage.in, completion_tokens: usage.out, total_tokens: usage.in + usage.out },
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(path.endsWith("/messages") ? anthropic : openai));
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const made: LlmServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: [],
    tokens: 0,
    replies,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return made;
}
