/**
 * What happens once the processes of a run are proven gone, whoever notices first: a stop, a wait, a list, the loop, reap. The
 * stream's result is read, each file is accounted for (kept, deleted or archived), and all of it is written to cleanup.json and
 * told to events.log. One failure does not stop the rest. Done by one process at a time; doing it twice gives the same.
 */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import type { Progress } from "../core/progress.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, CleanupFailure, FileKind, FileReport, RunResult, TrackedFile } from "../core/types.ts";
import { namesIn, removeFile, removeTree } from "../disk/inside.ts";
import type { RunPaths } from "../disk/layout.ts";
import { alone } from "../disk/lock.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { keepersGone } from "../facts/keepers-gone.ts";
import { smallHash, trackedFiles } from "../facts/tracked.ts";
import { leases } from "../process/keeper.ts";
import { readResult } from "../stream/result.ts";
import type { Streams } from "../stream/streams.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { auditCleanup } from "./cleanup-events.ts";
import { packLog, unpackLog } from "./pack.ts";

export interface CleanupOptions {
  /** Delete log and other files. */
  purge?: boolean | undefined;
  /** Compress the logs now; otherwise only when `archive_after` is 0. */
  archive?: boolean;
  /** Try again what failed. */
  retry?: boolean;
  progress?: Progress | undefined;
  /** How long to wait for another process that has the run in hands, before LOCK_BUSY. */
  waitMs?: number | undefined;
  /** What the caller has read of the run's output. */
  streams?: Streams | undefined;
  /** Told what the log was packed to. */
  packed?(ratio: number): void;
}

/** Facts, kept with the run and needed by it: shown as tracked, but no matter of a cleanup. */
const NOT_OURS: readonly FileKind[] = ["run", "worktree"];

/** To be called for a run that has ended. */
export async function cleanUp(
  context: Context,
  name: RunName,
  facts: Facts,
  options: CleanupOptions = {},
): Promise<CleanupFact> {
  const { purge = false, archive = false, retry = false } = options;
  const asked = purge || archive || retry;
  if (facts.cleanup && !asked) return facts.cleanup;
  const cleaned = async (now: Facts): Promise<CleanupFact> => {
    const known = now.cleanup;
    if (known && !asked) return known;
    const newest = isNewest(context, name);
    // First, while the stream is there.
    const result = known?.result ?? (now.done ? await told(readResult(context, name, now, options.streams)) : null);
    const tried = known?.failures ?? [];
    // What should have been deleted is still to be deleted, also when somebody comes for another reason.
    const again = new Set(tried.filter(({ step }) => step === "delete").map(({ path }) => path));
    const doomed = (path: string): boolean => purge || again.has(path);
    const packs = !purge && now.done?.verified && (archive || (context.config.archive_after === 0 && !known));
    const packsAgain = retry && tried.some(({ step }) => step === "archive");
    if (purge || packs || packsAgain || again.size > 0) await keepersGone(pathsOf(context, name), now);
    let files = newest ? fileSteps(context, name, now, doomed) : (known?.files ?? []);
    let archived_at = known?.archived_at;
    if (packs || packsAgain) {
      files = await archiveSteps(context, { ...name, newest }, now, files, options);
      if (!files.some(({ path, action }) => action === "failed" && !doomed(path))) archived_at = iso();
    }
    const fact: CleanupFact = {
      result,
      files,
      freed_bytes: files.reduce((sum, { action, bytes }) => sum + (action === "deleted" ? (bytes ?? 0) : 0), 0),
      at: iso(),
      failures: failures(files, tried, doomed),
      ...(archived_at === undefined ? {} : { archived_at }),
      ...(known?.restored_at === undefined ? {} : { restored_at: known.restored_at }),
    };
    // What cannot be written is not told either: whoever comes next does both.
    if (write(context, name, fact)) auditCleanup(context, name, now, known, fact);
    return fact;
  };
  return await underLock(context, name, facts, cleaned, options.waitMs);
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
    const files: FileReport[] = [];
    for (const stderr of [false, true])
      files.push(await unpackLog(context, { ...name, newest, json, stderr }, progress));
    const { archived_at: _, ...known } = now.cleanup ?? { files: [], freed_bytes: 0 };
    write(context, name, {
      ...known,
      files: files.reduce((all, file) => put(all, file, name.run), known.files),
      at: iso(),
      restored_at: iso(),
    });
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
    const numbers = namesIn(layout.root, layout.agent(task, agent).runs).map(Number);
    return !numbers.some((number) => number > run && existsSync(layout.run(task, agent, number).intent));
  } catch {
    return false; // A link in the place of its folder: nothing is known, so nothing is touched.
  }
}

function fileSteps(context: Context, name: RunName, facts: Facts, doomed: (path: string) => boolean): FileReport[] {
  const { root } = context.layout;
  const known = new Map(facts.cleanup?.files.map((file) => [file.path, file]));
  const removed = new Map((facts.done?.removed ?? []).map(({ path, bytes }) => [path, bytes]));
  const tracked = trackedFiles(context.layout, name).filter(({ kind }) => !NOT_OURS.includes(kind));
  const targets = tracked.filter(({ path, bytes }) => bytes !== null && doomed(path)).map(({ path }) => path);
  const held = new Set(leases(targets).flatMap((state, i) => (state === "held" ? [targets[i]] : [])));
  const step = ({ path, kind, bytes }: TrackedFile): FileReport => {
    const before = known.get(path);
    const report = (action: FileReport["action"], error: string | null = null): FileReport => ({
      path,
      action,
      bytes,
      sha256: before?.sha256 ?? null,
      error,
    });
    if (bytes === null) {
      if (before?.action === "deleted") return before;
      const gone = removed.get(path);
      return gone === undefined ? report("missing") : { ...report("deleted"), bytes: gone };
    }
    // The keeper removes the prompt; where no keeper ever was, it is ours to do.
    const deletes = doomed(path) || (kind === "prompt" && !facts.done);
    if (!deletes && before?.action === "archived") return before;
    const hashed = (): FileReport => ({ ...report("kept"), sha256: smallHash(path) });
    if (!deletes) return kind === "summaries" ? report("kept") : hashed();
    if (held.has(path)) return report("failed", "a process has it open for writing");
    const sha256 = before?.action === "archived" ? before.sha256 : smallHash(path);
    try {
      const gone = kind === "summaries" ? removeTree(root, path) : removeFile(root, path);
      return { ...report(gone ? "deleted" : "missing"), sha256 };
    } catch (error) {
      return report("failed", toMidwatchError(error).message);
    }
  };
  const files = tracked.map(step);
  const missed = [...known.values()].filter(({ path, action }) => action === "deleted" && !has(files, path));
  for (const [path, bytes] of removed)
    if (!has(files, path) && !has(missed, path))
      files.push({ path, action: "deleted", bytes, sha256: null, error: null });
  return [...files, ...missed];
}

const has = (files: readonly FileReport[], path: string): boolean => files.some((file) => file.path === path);

async function archiveSteps(
  context: Context,
  name: RunName & { newest: boolean },
  { intent }: Facts,
  files: readonly FileReport[],
  { progress, packed }: CleanupOptions,
): Promise<FileReport[]> {
  let all = [...files];
  for (const stderr of [false, true]) {
    const target = { ...name, stderr, json: intent?.driver !== "command" };
    const place = all.find(({ path }) => isLog(path) && path.includes("_stderr") === stderr);
    let file: FileReport;
    try {
      const done = await packLog(context, target, progress);
      file = done.file;
      if (!stderr && done.ratio !== null) packed?.(done.ratio);
    } catch (error) {
      if (place === undefined) continue;
      file = { ...place, action: "failed", error: toMidwatchError(error).message };
    }
    // Nothing was done to it now: what was told before is more than packing can see.
    const same = all.find(({ path, action }) => path === file.path && action === file.action);
    all = put(all, file.error === null && file.sha256 === null && same ? same : file, name.run);
    if (!stderr) all = all.map((one) => (one.path.endsWith(".idx") ? movedIndex(context, name, one) : one));
  }
  return all;
}

/** The index goes to the archive with its log. */
function movedIndex(context: Context, name: RunName, index: FileReport): FileReport {
  const { path } = trackedFiles(context.layout, name).find(({ kind }) => kind === "index") ?? index;
  return { ...index, path };
}

function failures(
  files: readonly FileReport[],
  tried: readonly CleanupFailure[],
  doomed: (path: string) => boolean,
): CleanupFailure[] {
  const at = iso();
  return files.flatMap(({ path, action, error }) => {
    if (action !== "failed") return [];
    const before = tried.find((one) => one.path === path);
    const step = doomed(path) || path.includes("agent_prompt_") ? "delete" : "archive";
    const same = before?.step === step ? before : undefined;
    return [{ path, step, error: error ?? "", tries: (same?.tries ?? 0) + 1, since: same?.since ?? at, at }];
  });
}

/** Sets one file's report, at the place of the same file where it was before. */
function put(files: readonly FileReport[], file: FileReport, run: number): FileReport[] {
  const plain = (path: string): string =>
    basename(path)
      .replace(/\.corrupted\.\d+$/, "")
      .replace(/\.zst$/, "")
      .replace(`.${run}.`, ".");
  const at = files.findIndex(({ path }) => plain(path) === plain(file.path));
  return at === -1 ? [...files, file] : files.map((one, i) => (i === at ? file : one));
}

/** stdout or stderr, plain or archived; `x_stream.jsonl` in logs/ and `x_stream.3.jsonl.zst` in archive/ are the same log. */
export function isLog(path: string): boolean {
  return /_(stream(\.\d+)?\.jsonl|stderr(\.\d+)?\.log)(\.zst|\.corrupted\.\d+)?$/.test(path);
}

function write(context: Context, name: RunName, fact: CleanupFact): boolean {
  try {
    replaceInside(context.layout.root, pathsOf(context, name).cleanup, `${JSON.stringify(fact)}\n`);
    return true;
  } catch {
    // The report goes to the caller in any case; a full disk must not fail a stop that is proven.
    return false;
  }
}
