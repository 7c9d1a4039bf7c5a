// A CLI that speaks as Claude Code does in two-way use: says of each message that it took it up, answers, ends with its input. With
// `--deaf` it never reads.
import { createInterface } from "node:readline";

if (process.argv.includes("--deaf")) await new Promise((resolve) => setTimeout(resolve, 300_000));
const print = (line: object): void => console.log(JSON.stringify(line));
const session = process.argv[process.argv.findIndex((word) => /^--(session-id|resume)$/.test(word)) + 1];
for await (const line of createInterface({ input: process.stdin })) {
  const { message } = JSON.parse(line) as { message: { content: string } };
  print({ type: "system", subtype: "init", session_id: session, model: "scripted" });
  if (!message.content.includes("IN SILENCE")) print({ type: "user", message, isReplay: true });
  if (message.content.includes("THINK")) continue;
  print({ type: "assistant", message: { id: line, content: [{ type: "text", text: `heard ${message.content}` }] } });
  print({ type: "result", subtype: "success", is_error: false, result: `heard ${message.content}` });
}
