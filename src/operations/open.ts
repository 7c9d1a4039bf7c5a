/** The workspace of a call: the one that the door holds open, or found by the caller's place and opened once. */
import type { ConfigInput } from "../core/config/config.ts";
import { openWorkspace, type Workspace } from "../fleet/workspace.ts";
import type { Context } from "./operation.ts";

export function workspaceOf(
  context: Context,
  more: { make?: boolean; config?: ConfigInput; fallbackDir?: string | undefined } = {},
): Workspace {
  const { served } = context;
  // Neither another workspace nor another place for it: what a server serves is one workspace.
  if (served !== undefined) return served.workspace.as(served.caller, more.config);
  const workspace = openWorkspace({ workspace: context.workspace, cwd: context.cwd, env: context.env, ...more });
  for (const text of workspace.cautions()) context.notice(text);
  return workspace;
}
