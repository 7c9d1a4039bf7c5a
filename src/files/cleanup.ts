/**
 * What happens once the processes of a run are proven gone, whoever notices first: a stop, a wait, a list, the loop, reap. The
 * stream's result is read, each file is accounted for (kept, deleted or archived), and all of it is written to cleanup.json and
 * told to events.log. One failure does not stop the rest. Done by one process at a time; doing it twice gives the same.
 */
import { basename } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import { type Said, saidIn } from "../core/phase.ts";
import type { Progress } from "../core/progress.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, FileReport, RunResult } from "../core/types.ts";
import { namesIn, removeFile, removeTree } from "../disk/inside.ts";
import type { RunPaths } from "../disk/layout.ts";
import { alone } from "../disk/lock.ts";
import { sealRun } from "../disk/sealed.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { keepersGone } from "../facts/keepers-gone.ts";
import { lastReports } from "../facts/last-reports.ts";
import { hasFact, numbersIn } from "../facts/run-numbers.ts";
import { smallHash, trackedFiles } from "../facts/tracked.ts";
import { leases } from "../process/keeper.ts";
import { readResult } from "../stream/result.ts";
import type { Streams } from "../stream/streams.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { recordSpend } from "../workspace/record-spend.ts";
import { auditCleanup } from "./cleanup-events.ts";
import {
  type Asked,
  cleanupFact,
  cleanupPlan,
  type FileStep,
  fileSteps,
  isCleanedUp,
  isLog,
  isSealable,
  restoredFact,
  stowsUnasked,
  withGone,
  withPacked,
} from "./cleanup-plan.ts";
import { packLog, unpackLog } from "./pack.ts";
import { stowFiles, unstowFiles } from "./stow.ts";

export interface CleanupOptions extends Asked {
  progress?: Progress | undefined;
  /** How long to wait for another process that has the run in hands, before LOCK_BUSY. */
  waitMs?: number | undefined;
  /** What the caller has read of the run's output. */
  streams?: Streams | undefined;
  /** Files of it that the look which found it over found open for writing nowhere. */
  free?: readonly string[] | undefined;
  /** Told what the log was packed to. */
  packed?(ratio: number): void;
}

/** To be called for a run that has ended. */
export async function cleanUp(
  context: Context,
  name: RunName,
  facts: Facts,
  options: CleanupOptions = {},
): Promise<CleanupFact> {
  if (isCleanedUp(facts, options)) return facts.cleanup;
  const cleaned = async (now: Facts): Promise<CleanupFact> => {
    if (isCleanedUp(now, options)) return now.cleanup;
    const known = now.cleanup;
    const newest = isNewest(context, name);
    // First, while the stream is there.
    const result = known?.result ?? (now.done ? await told(readResult(context, name, now, options.streams)) : null);
    const asked = cleanupPlan(
      now,
      { ...options, stow: stows(context, name, now, options) },
      context.config.archive_after,
    );
    const plan = { ...asked, seals: asked.touches && (await keepersGone(pathsOf(context, name), now)) && asked.seals };
    const steps = newest ? fileSteps(trackedFiles(context.layout, name), now, plan, leasesBut(options.free)) : [];
    const done = steps.map((step) => carryOut(context.layout.root, step));
    let files = newest ? withGone(done, now) : (known?.files ?? []);
    if (plan.packs) files = await archiveSteps(context, { ...name, newest }, now, files, options);
    if (plan.stows && newest) files = stowFiles(context, name, files, leasesBut(options.free));
    const fact = cleanupFact(plan, known, result, files, iso());
    if (result !== null) recordEnd(context, name, now, result);
    // What cannot be written is not told either: whoever comes next does both.
    if (write(context, name, fact, plan.seals)) auditCleanup(context, name, now, known, fact);
    return fact;
  };
  return await underLock(context, name, facts, cleaned, options.waitMs);
}

function stows(context: Context, { task, agent }: RunName, now: Facts, { stow }: CleanupOptions): boolean {
  if (stow !== undefined || now.cleanup !== undefined) return stow === true;
  const [said] = lastReports<Said>(context.layout.agent(task, agent).progress, 1);
  return stowsUnasked(context.config.stop_files, now, now.intent ? saidIn(now.intent, said) : null);
}

function recordEnd(
  context: Context,
  name: RunName,
  { intent, exit }: Facts,
  { spent = [], cost_usd }: RunResult,
): void {
  const atMs = exit === undefined ? Date.now() : Date.parse(exit.ended_at);
  recordSpend(context, [
    { ...name, labels: intent?.labels ?? [], parts: spent, told_usd: cost_usd, final: true, atMs },
  ]);
}

/** Who was looked at already is not asked for again. */
function leasesBut(free: readonly string[] = []): typeof leases {
  return (paths) => {
    const asked = paths.filter((path) => !free.includes(path));
    const answers = leases(asked);
    return paths.map((path) => (free.includes(path) ? "free" : (answers[asked.indexOf(path)] ?? "unknown")));
  };
}

/** A stream that cannot be read (any more) tells nothing; that is no reason to leave the rest undone. */
function told(reading: Promise<RunResult | null>): Promise<RunResult | null> {
  return reading.catch(() => null);
}

/** The plain logs back from the archive. */
export async function restoreLogs(context: Context, name: RunName, progress?: Progress): Promise<FileReport[]> {
  const facts = readFacts(pathsOf(context, name));
  return await underLock(context, name, facts, async (now) => {
    const json = now.intent?.driver !== "command";
    const newest = isNewest(context, name);
    const moved = newest ? unstowFiles(context, name) : [];
    const files: FileReport[] = [];
    for (const stderr of [false, true])
      files.push(await unpackLog(context, { ...name, newest, json, stderr }, progress));
    files.push(...moved.filter(({ path }) => !isLog(path)));
    write(context, name, restoredFact(now.cleanup, files, name.run, iso()), isSealable(now));
    return files;
  });
}

/** One process at a time, with the facts as they are when it has its turn. */
function underLock<T>(
  context: Context,
  name: RunName,
  facts: Facts,
  act: (now: Facts) => T | Promise<T>,
  waitMs?: number,
): Promise<T> {
  const locked = (): T | Promise<T> => {
    const now = readFacts(pathsOf(context, name));
    // Its folder may have been deleted under us: what the caller has seen still holds.
    return act(now.done || !facts.done ? { ...now, intent: now.intent ?? facts.intent } : facts);
  };
  return lockRun(context, name, locked, waitMs);
}

/** Under this lock a run's files are cleaned up, archived, restored, and moved away by the next run. */
export function lockRun<T>(
  { layout }: Context,
  { agent, run }: RunName,
  act: () => T | Promise<T>,
  waitMs?: number,
): Promise<T> {
  return alone(layout, layout.locks.run(agent, run), act, waitMs);
}

const pathsOf = ({ layout }: Context, { task, agent, run }: RunName): RunPaths => layout.run(task, agent, run);

/** Whether the files at the agent's names are this run's: no later run has come as far as an intent. */
function isNewest({ layout }: Context, { task, agent, run }: RunName): boolean {
  try {
    const numbers = numbersIn(namesIn(layout.root, layout.agent(task, agent).runs));
    return !numbers.some((number) => number > run && hasFact(layout.run(task, agent, number), "intent"));
  } catch {
    return false; // A link in the place of its folder: nothing is known, so nothing is touched.
  }
}

function carryOut(root: string, { kind, report, hashes, deletes }: FileStep): FileReport {
  const { path } = report;
  const sha256 = hashes ? smallHash(path) : report.sha256;
  if (!deletes) return { ...report, sha256 };
  try {
    const gone = kind === "summaries" ? removeTree(root, path) : removeFile(root, path);
    return { ...report, action: gone ? "deleted" : "missing", sha256 };
  } catch (error) {
    return { ...report, action: "failed", error: toMidwatchError(error).message };
  }
}

async function archiveSteps(
  context: Context,
  name: RunName & { newest: boolean },
  { intent }: Facts,
  files: readonly FileReport[],
  { progress, packed, free }: CleanupOptions,
): Promise<FileReport[]> {
  let all = [...files];
  for (const stderr of [false, true]) {
    const target = { ...name, stderr, json: intent?.driver !== "command" };
    const place = all.find(({ path }) => isLog(path) && path.includes("_stderr") === stderr);
    if (place?.action === "deleted") continue;
    let file: FileReport;
    try {
      const done = await packLog(context, target, progress, leasesBut(free));
      file = done.file;
      if (!stderr && done.ratio !== null) packed?.(done.ratio);
    } catch (error) {
      if (place === undefined) continue;
      file = { ...place, action: "failed", error: toMidwatchError(error).message };
    }
    all = withPacked(all, file, name.run);
    if (!stderr) all = all.map((one) => (one.path.endsWith(".idx") ? movedIndex(context, name, one) : one));
  }
  return all;
}

/** The index goes to the archive with its log. */
function movedIndex(context: Context, name: RunName, index: FileReport): FileReport {
  const { path } = trackedFiles(context.layout, name).find(({ kind }) => kind === "index") ?? index;
  return { ...index, path };
}

function write(context: Context, name: RunName, fact: CleanupFact, seals: boolean): boolean {
  const { root } = context.layout;
  const paths = pathsOf(context, name);
  try {
    const sealed = seals && sealRun(root, paths, { [basename(paths.cleanup)]: fact }, context.onStep);
    if (!sealed) replaceInside(root, paths.cleanup, `${JSON.stringify(fact)}\n`);
    return true;
  } catch {
    // The report goes to the caller in any case; a full disk must not fail a stop that is proven.
    return false;
  }
}
