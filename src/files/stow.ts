/**
 * The files of a run go to the archive at once, as they are: by name alone, however large they are, and nothing is overwritten. Readers find
 * them there. The log is compressed when it is old enough, like any other. To be called under the lock of the run.
 */
import { toMidwatchError } from "../core/errors.ts";
import type { FileReport } from "../core/types.ts";
import { linkMove } from "../disk/inside.ts";
import { stat } from "../facts/record.ts";
import type { Lease } from "../process/keeper.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { fileReport, HELD } from "./cleanup-plan.ts";

/** From the agent's names to those of its run. */
function movesOf({ layout }: Context, { task, agent, run }: RunName): [from: string, to: string][] {
  const at = layout.agent(task, agent);
  const own = layout.run(task, agent, run);
  return [
    [at.log, own.archivedLog],
    [at.stderr, own.archivedStderr],
    [at.index, own.archivedIndex],
    [at.progress, own.archivedProgress],
    [at.findings, own.archivedFindings],
  ];
}

/** `files` with what was moved under its new names. */
export function stowFiles(
  context: Context,
  name: RunName,
  files: readonly FileReport[],
  leases: (paths: string[]) => Lease[],
): FileReport[] {
  const moves = movesOf(context, name);
  const from = new Map(moves);
  const to = new Set(moves.map(([, path]) => path));
  const kept = files.flatMap(({ path, action }) => (action === "kept" && from.has(path) ? [path] : []));
  const held = new Set(leases(kept).flatMap((lease, i) => (lease === "held" ? kept[i] : [])));
  return files.map((file) => {
    if (file.action !== "kept") return file;
    const target = from.get(file.path);
    // One that was moved, and not told then: whoever moved it was killed.
    if (target === undefined) return to.has(file.path) ? { ...file, action: "archived" } : file;
    if (held.has(file.path)) return { ...file, action: "failed", error: HELD };
    return moved(context, file, target);
  });
}

function moved({ layout, onStep }: Context, file: FileReport, to: string): FileReport {
  try {
    const done = linkMove(layout.root, file.path, to);
    onStep?.("stowed");
    if (done === "moved") return { ...file, path: to, action: "archived" };
    return done === "missing"
      ? { ...file, action: "missing" }
      : { ...file, action: "failed", error: `${to} exists already and is never overwritten` };
  } catch (error) {
    return { ...file, action: "failed", error: toMidwatchError(error).message };
  }
}

/** Back to the agent's names, as far as those are free; what became of the rest nobody asked. */
export function unstowFiles(context: Context, name: RunName): FileReport[] {
  return movesOf(context, name).flatMap(([from, to]) =>
    linkMove(context.layout.root, to, from) === "moved" ? fileReport(from, "kept", stat(from)?.size ?? null) : [],
  );
}
