/** `node call-tool.ts NAME JSON...`: calls of tools of one `midwatch mcp`, as the client that starts it; prints an answer a line. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { CLI } from "../workspace.ts";

const words = process.argv.slice(2);
const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
const env = process.env as Record<string, string>;
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env, stderr: "inherit" }),
);
for (let i = 0; i < words.length; i += 2) {
  const answer = await client.callTool({ name: words[i] ?? "", arguments: JSON.parse(words[i + 1] ?? "{}") });
  const [content] = answer.content as { text: string }[];
  console.log(JSON.stringify({ isError: answer.isError === true, data: JSON.parse(content?.text ?? "{}") }));
}
await client.close();
