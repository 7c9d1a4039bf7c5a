/**
 * A bound over the logs of an agent's earlier runs: when its next run has begun, the oldest go to the trash until what is left is within
 * `runs_kept` and `runs_kept_size`. The last of them stays whatever its size is, and the facts of all.
 */
import { join } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import type { TaskFact } from "../core/intent.ts";
import { formatSize } from "../core/size.ts";
import { iso } from "../core/time.ts";
import { namesIn } from "../disk/inside.ts";
import { alone } from "../disk/lock.ts";
import { readJson } from "../disk/replace.ts";
import { lstat } from "../facts/tracked.ts";
import { audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { isPinned } from "./pin.ts";
import { itemId, putIntoTrash } from "./trash.ts";

/** Whoever prunes just now does not keep a start waiting: the next one does it. */
const LOCK_MS = 10;

interface Earlier {
  run: number;
  /** Below the workspace. */
  paths: string[];
  bytes: number;
}

/** `run` is the one that has begun. A start does not fail over this: what could not be done is told. */
export async function boundEarlierRuns(context: Context, name: RunName): Promise<void> {
  const { layout, config } = context;
  try {
    const going = beyond(earlierRuns(context, name), config.runs_kept, config.runs_kept_size);
    if (going.length === 0 || isPinned(context, name)) return;
    await alone(layout, layout.locks.prune, () => takeAway(context, name, going), LOCK_MS);
  } catch (error) {
    const content = `The logs of earlier runs of ${name.agent} could not go to the trash: ${toMidwatchError(error).message}`;
    if (toMidwatchError(error).code !== "LOCK_BUSY") audit(context, [{ type: "error", content, agent: name.agent }]);
  }
}

/** Newest first. What was damaged, and so kept aside, is for a person to look at. */
function earlierRuns({ layout }: Context, { task, agent, run: now }: RunName): Earlier[] {
  const { archive } = layout.task(task);
  const found = namesIn(layout.root, archive).flatMap((name) => {
    const [, of, run] = /^([^.]+)_(?:stream|stderr)\.([0-9]+)\.(?:jsonl|log|idx)(?:\.zst)?$/.exec(name) ?? [];
    const path = join(archive, name);
    return of === agent && Number(run) < now ? [{ run: Number(run), path, bytes: lstat(path)?.size ?? 0 }] : [];
  });
  return [...Map.groupBy(found, ({ run }) => run)]
    .map(([run, files]) => ({
      run,
      paths: files.map(({ path }) => path.slice(layout.root.length + 1)),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    }))
    .sort((a, b) => b.run - a.run);
}

function beyond(runs: readonly Earlier[], kept: number, most: number): Earlier[] {
  let bytes = 0;
  const first = runs.findIndex((one, i) => {
    bytes += one.bytes;
    return i > 0 && ((kept > 0 && i >= kept) || (most > 0 && bytes > most));
  });
  return first < 0 ? [] : runs.slice(first);
}

function takeAway(context: Context, { task, agent }: RunName, going: readonly Earlier[]): void {
  const at = Date.now();
  const id = itemId(at, agent);
  const runs = going.map(({ run }) => run).reverse();
  const bytes = going.reduce((sum, one) => sum + one.bytes, 0);
  const why = `logs of ${runs.length === 1 ? `run ${runs[0]}` : `${runs.length} runs, the last run ${runs.at(-1)}`}: beyond runs_kept or runs_kept_size`;
  const task_fact = readJson<TaskFact>(context.layout.task(task).fact).value ?? ({} as TaskFact);
  const manifest = { v: 1 as const, agent, agents: [agent], task, why, bytes, at: iso(at), task_fact };
  const errors = putIntoTrash(
    context,
    id,
    manifest,
    going.flatMap(({ paths }) => paths),
  );
  const content = `${why} of ${agent} are in the trash (${formatSize(bytes)}). Next: midwatch prune --undo ${agent}`;
  audit(context, [
    { type: "prune.trashed", content, task, agent, data: { id, why, bytes, agents: [agent], runs, errors } },
  ]);
}
