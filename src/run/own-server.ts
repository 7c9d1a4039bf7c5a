/** The MCP server that an agent is given: midwatch itself, so that it can report, ask and start agents below it. */
import type { AgentId } from "../core/ids.ts";
import type { McpServer } from "../drivers/driver.ts";
import { midwatchWords } from "../process/self.ts";
import type { Context } from "../workspace/context.ts";
import type { ServerFact } from "../workspace/http-files.ts";

/** One that runs serves all agents at no further cost, each by its own capability; else the CLI starts one for itself. */
export function ownServer(
  context: Context,
  server: ServerFact | undefined,
  agent: AgentId,
  capability: string,
): McpServer {
  if (server !== undefined)
    return { name: "midwatch", at: { url: `${server.url}/mcp`, bearer: `${agent}:${capability}` } };
  // Which agent it serves it knows from the keeper above it; the agents that it starts need the keys of this one.
  const [command, ...args] = midwatchWords(["mcp", "--workspace", context.layout.root]);
  return { name: "midwatch", at: { command, args, env: {}, inherits: true } };
}
