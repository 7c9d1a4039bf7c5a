/** The workspace of a call: found by the caller's place, opened once. */
import type { ConfigInput } from "../core/config.ts";
import { openWorkspace, type Workspace } from "../fleet.ts";
import type { Context } from "./operation.ts";

export function workspaceOf(
  context: Context,
  more: { make?: boolean; config?: ConfigInput; fallbackDir?: string | undefined } = {},
): Workspace {
  return openWorkspace({ workspace: context.workspace, cwd: context.cwd, env: context.env, ...more });
}
