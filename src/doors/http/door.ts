/** What all parts of the HTTP door share. */
import type { Workspace } from "../../fleet/workspace.ts";
import type { Change } from "../../operations/operation.ts";
import type { McpOverHttp } from "../mcp/http.ts";
import type { Auth } from "./auth.ts";
import type { Connections } from "./connections.ts";
import type { FleetFeed } from "./fleet-feed.ts";
import type { Limits } from "./limits.ts";
import type { Asset } from "./static.ts";

export interface Door {
  workspace: Workspace;
  auth: Auth;
  fleet: FleetFeed;
  limits: Limits;
  connections: Connections;
  assets: ReadonlyMap<string, Asset>;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  url: string;
  /** Of the proxy in front, if there is one. */
  publicUrl?: string | undefined;
  mcp: McpOverHttp;
  /** Somebody changed something through this door: what is kept of the fleet is old. */
  changed(change: Change): void;
}
