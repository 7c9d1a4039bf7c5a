import { onTestFinished } from "vitest";
import type { ConfigInput } from "../../src/core/config/config.ts";
import { type LogOptions, type OpenOptions, openWorkspace, type Workspace } from "../../src/fleet/workspace.ts";

export { until } from "./workspace.ts";

/** A workspace in a folder; every agent in it is stopped, and the stop verified, when the test ends. */
export function workspaceIn(place: string, config: ConfigInput = {}, more: OpenOptions = {}): Workspace {
  const workspace = openWorkspace({ workspace: `${place}/.agent-workspace`, make: true, cwd: place, config, ...more });
  onTestFinished(async () => {
    const live = (await workspace.runs.list())
      .filter(({ outcome }) => outcome === null || outcome === "lost")
      .map(({ agent }) => agent);
    const reports = await workspace.runs.stop(live, { graceMs: 0, reason: "end of a test" });
    workspace.close();
    const left = reports.filter(({ verified }) => !verified);
    if (left.length > 0) throw new Error(`not stopped: ${JSON.stringify(left)}`);
  });
  return workspace;
}

/** Exactly what the agent printed. */
export async function rawLog(workspace: Workspace, agent: string, options: LogOptions = {}): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of workspace.logs.bytes(agent, options)) parts.push(part);
  return Buffer.concat(parts);
}
