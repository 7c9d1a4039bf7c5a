/**
 * `node stubborn-mcp.ts PIDS`: an MCP server on stdio that does not go away: it ignores the signals that ask and the end of its
 * input. It notes itself in PIDS as the zoo does. Its tool `echo` shows that it is connected.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { lifeOf } from "../fault/zoo.ts";

const LIFE_MS = 60_000;
const { pid, startTicks } = lifeOf(process.pid);
appendFileSync(process.argv[2] as string, `${pid} ${startTicks}\n`);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
setTimeout(() => process.exit(0), LIFE_MS); // A failed test leaves nothing for ever.
process.stdout.on("error", () => {}); // Nobody reads any more.

const echo = {
  name: "echo",
  description: "Says a text again",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  annotations: { readOnlyHint: true },
};

interface Message {
  id?: number | string;
  method: string;
  params?: { protocolVersion?: string; arguments?: { text?: string } };
}

function answer({ method, params }: Message): object | undefined {
  if (method === "initialize")
    return {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "stubborn", version: "1.0.0" },
    };
  if (method === "tools/list") return { tools: [echo] };
  if (method === "tools/call") return { content: [{ type: "text", text: `echo: ${params?.arguments?.text}` }] };
  return method === "ping" ? {} : undefined;
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined) continue;
  const result = answer(message);
  const error = { code: -32601, message: `There is no ${message.method}` };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...(result ? { result } : { error }) })}\n`);
}
