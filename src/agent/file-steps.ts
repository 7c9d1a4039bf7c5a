/** What happens to a run's files after its processes are proven gone: kept by default, deleted with purge. One failure does
 *  not stop the rest; everything is written to cleanup.json. */
import { toMidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, FileReport } from "../core/types.ts";
import { removeFile } from "../disk/inside.ts";
import { replace } from "../disk/replace.ts";
import { leases } from "../process/keeper.ts";
import type { Context } from "./context.ts";
import type { Facts } from "./facts.ts";
import type { Located } from "./locate.ts";
import { trackedFiles } from "./record.ts";

export function fileSteps(
  context: Context,
  { listed, paths }: Located,
  facts: Facts,
  purge: boolean,
): { files: FileReport[]; freed: number } {
  const { agent } = listed;
  const removed = new Map((facts.done?.removed ?? []).map(({ path, bytes }) => [path, bytes]));
  const tracked = trackedFiles(context.layout, agent.task, agent.id);
  const held = purge
    ? new Map(
        zip(
          tracked.map(({ path }) => path),
          leases(tracked.map(({ path }) => path)),
        ),
      )
    : new Map<string, string>();
  const files = tracked.map(({ path, bytes, sha256 }): FileReport => {
    const step = (action: FileReport["action"], error: string | null = null): FileReport => ({
      path,
      action,
      bytes,
      sha256,
      error,
    });
    const gone = removed.get(path);
    if (gone !== undefined && bytes === null)
      return { path, action: "deleted", bytes: gone, sha256: null, error: null };
    if (bytes === null) return step("missing");
    if (!purge) return step("kept");
    if (held.get(path) === "held") return step("failed", "a process has it open for writing");
    try {
      return step(removeFile(context.layout.root, path) ? "deleted" : "missing");
    } catch (error) {
      return step("failed", toMidwatchError(error).message);
    }
  });
  for (const [path, bytes] of removed) {
    if (!files.some((file) => file.path === path))
      files.push({ path, action: "deleted", bytes, sha256: null, error: null });
  }
  const freed = files.reduce((sum, { action, bytes }) => sum + (action === "deleted" ? (bytes ?? 0) : 0), 0);
  const fact: CleanupFact = { files, freed_bytes: freed, at: iso() };
  try {
    replace(paths.cleanup, `${JSON.stringify(fact)}\n`);
  } catch {
    // The report goes to the caller in any case; a full disk must not fail a stop that is proven.
  }
  return { files, freed };
}

function zip<A, B>(keys: readonly A[], values: readonly B[]): [A, B][] {
  return keys.map((key, i) => [key, values[i] as B]);
}
