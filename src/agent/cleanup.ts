/**
 * What happens once the processes of a run are proven gone, whoever notices first: a stop, a wait, a list, the loop. The stream's
 * result is read, each file is accounted for (kept, or deleted with purge), and all of it is written to cleanup.json. One
 * failure does not stop the rest. Doing it twice gives the same.
 */
import { toMidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, FileReport, TrackedFile } from "../core/types.ts";
import { removeFile } from "../disk/inside.ts";
import { replace } from "../disk/replace.ts";
import { leases } from "../process/keeper.ts";
import type { Context } from "./context.ts";
import type { Facts } from "./facts.ts";
import type { RunName } from "./launch.ts";
import { trackedFiles } from "./record.ts";
import { readResult } from "./result.ts";

export interface CleanupOptions {
  purge?: boolean | undefined;
  /** It is the agent's newest run, so the files at the agent's names are its own. */
  newest?: boolean;
}

export async function cleanUp(
  context: Context,
  name: RunName,
  facts: Facts,
  { purge = false, newest = true }: CleanupOptions = {},
): Promise<CleanupFact> {
  const result = facts.cleanup?.result ?? (facts.done ? await readResult(context, name, facts, newest) : null);
  const files = newest ? fileSteps(context, name, facts, purge) : [];
  const freed = files.reduce((sum, { action, bytes }) => sum + (action === "deleted" ? (bytes ?? 0) : 0), 0);
  const fact: CleanupFact = { result, files, freed_bytes: freed, at: iso() };
  try {
    replace(context.layout.run(name.task, name.agent, name.run).cleanup, `${JSON.stringify(fact)}\n`);
  } catch {
    // The report goes to the caller in any case; a full disk must not fail a stop that is proven.
  }
  return fact;
}

function fileSteps(context: Context, { task, agent }: RunName, facts: Facts, purge: boolean): FileReport[] {
  const { root } = context.layout;
  const removed = new Map((facts.done?.removed ?? []).map(({ path, bytes }) => [path, bytes]));
  const tracked = trackedFiles(context.layout, task, agent);
  const paths = tracked.map(({ path }) => path);
  const held = new Set(purge ? leases(paths).flatMap((state, i) => (state === "held" ? [paths[i]] : [])) : []);
  const step = ({ path, kind, bytes, sha256 }: TrackedFile): FileReport => {
    const report = (action: FileReport["action"], error: string | null = null): FileReport => ({
      path,
      action,
      bytes,
      sha256,
      error,
    });
    const gone = removed.get(path);
    if (gone !== undefined && bytes === null) return { ...report("deleted"), bytes: gone };
    if (bytes === null) return report("missing");
    // The keeper removes the prompt; where no keeper ever was, it is ours to do.
    if (!purge && !(kind === "prompt" && !facts.done)) return report("kept");
    if (held.has(path)) return report("failed", "a process has it open for writing");
    try {
      return report(removeFile(root, path) ? "deleted" : "missing");
    } catch (error) {
      return report("failed", toMidwatchError(error).message);
    }
  };
  const files = tracked.map(step);
  for (const [path, bytes] of removed)
    if (!paths.includes(path)) files.push({ path, action: "deleted", bytes, sha256: null, error: null });
  return files;
}
