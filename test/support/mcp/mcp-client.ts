/** An MCP client of the official SDK, connected to `midwatch mcp` of a lab. */
import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished } from "vitest";
import { serve } from "../../../src/doors/http/serve.ts";
import { CLI, type Lab } from "../workspace.ts";

/** Legacy begins with `initialize` (2025-11-25 and older), modern with `server/discover` (2026-07-28). */
export type Era = "legacy" | "modern";

export interface Answer {
  isError: boolean;
  /** The structured content, or what the text of an error says. */
  data: Record<string, unknown> & { success: boolean };
  text: string;
}

export interface TestClient {
  client: Client;
  call(name: string, args?: Record<string, unknown>): Promise<Answer>;
}

export function clientOptions(era: Era, versions?: string[]): ClientOptions {
  return {
    versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" } },
    ...(versions === undefined ? {} : { supportedProtocolVersions: versions }),
  };
}

export async function stdioClient(lab: Pick<Lab, "folder">, era: Era, versions?: string[]): Promise<TestClient> {
  const client = new Client({ name: "test", version: "1.0.0" }, clientOptions(era, versions));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [CLI, "mcp"],
    cwd: lab.folder,
    env: { ...(process.env as Record<string, string>), MIDWATCH_GRACE: "500ms" },
    stderr: "inherit",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, call: (name, args) => callTool(client, name, args) };
}

/** The HTTP door of a lab, as `midwatch up` opens it. */
export async function httpServer(lab: Pick<Lab, "workspace">): Promise<{ url: string; token: string }> {
  const options = { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined };
  const served = await serve(lab.workspace, options);
  onTestFinished(() => served.close());
  return { url: `${served.url}/mcp`, token: lab.workspace.http.token() };
}

export async function httpClient(
  { url, token }: { url: string; token: string },
  era: Era,
  versions?: string[],
): Promise<TestClient> {
  const client = new Client({ name: "test", version: "1.0.0" }, clientOptions(era, versions));
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  onTestFinished(() => client.close());
  return { client, call: (name, args) => callTool(client, name, args) };
}

export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
  const [block] = content as { type: string; text: string }[];
  const text = block?.text ?? "";
  return { isError: isError === true, text, data: (structuredContent ?? JSON.parse(text)) as Answer["data"] };
}
