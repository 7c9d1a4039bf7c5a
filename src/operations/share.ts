/** What a command does besides what it was asked for: a share of retention, where no `midwatch up` does all of it. */
import { openWorkspace } from "../fleet/workspace.ts";
import type { Context, Operation } from "./operation.ts";

/** Those that make a workspace grow, and stop. Who looks, mends or brings back must not lose what it is about. */
const SHARES: readonly string[] = ["run", "restart", "stop", "task", "event"];

/** After the answer was printed. It is a person's only, bounded, and never fails a command that was done. */
export async function pruneShare(context: Context, { name }: Operation): Promise<void> {
  if (!SHARES.includes(name)) return;
  try {
    const { workspace: given, cwd, env } = context;
    using workspace = openWorkspace({ workspace: given, cwd, env });
    const told = workspace.isPersons() ? await workspace.files.pruneShare() : undefined;
    if (told !== undefined) context.notice(told);
  } catch {
    // Somebody else prunes, or nothing can be written: the next command, `up` or `prune` does it, and the latter says why it cannot.
  }
}
