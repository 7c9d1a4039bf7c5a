/** MCP of one workspace over HTTP: who was let in by the HTTP door is served in its own name. */
import { isAgentId } from "../../core/ids.ts";
import type { Workspace } from "../../fleet/workspace.ts";
import { midwatchVersion } from "../../operations/version.ts";
import { Served, type ServedAt } from "./calls.ts";
import { Changes } from "./changes.ts";
import { type McpOverHttp, mcpOverHttp } from "./http.ts";
import { versions } from "./resources.ts";
import { midwatchServer } from "./server.ts";

/** A caller is an agent id, or nothing for a person. */
export function mcpDoor(workspace: Workspace, place: Omit<ServedAt, "workspace">): McpOverHttp {
  const version = midwatchVersion();
  const served = (caller: string): Served =>
    new Served({ ...place, workspace: undefined }, workspace, { agent: isAgentId(caller) ? caller : undefined });
  return mcpOverHttp((caller) => midwatchServer(served(caller), version), new Changes(() => versions(workspace)));
}
