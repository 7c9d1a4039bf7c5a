/** `node call-tool.ts NAME JSON`: one call of a tool of `midwatch mcp`, as the client that starts it; prints the answer. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { CLI } from "../workspace.ts";

const [name = "", args = "{}"] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
const env = process.env as Record<string, string>;
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [CLI, "mcp"], env, stderr: "inherit" }),
);
const answer = await client.callTool({ name, arguments: JSON.parse(args) });
const [content] = answer.content as { text: string }[];
console.log(JSON.stringify({ isError: answer.isError === true, data: JSON.parse(content?.text ?? "{}") }));
await client.close();
