/** What becomes of the files of an ended run, and the account of it. Pure: facts and files in, steps and cleanup.json out. */
import { basename } from "node:path";
import type { Config } from "../core/config/config.ts";
import { isTerminal } from "../core/phase.ts";
import type { CleanupFact, CleanupFailure, FileKind, FileReport, RunResult, TrackedFile } from "../core/types.ts";
import type { Facts } from "../facts/facts.ts";
import { hasEnded } from "../facts/observe.ts";
import type { Verified } from "../log/verify.ts";
import type { Lease } from "../process/keeper.ts";

/** Facts, kept with the run and needed by it: shown as tracked, but no matter of a cleanup. */
const NOT_OURS: readonly FileKind[] = ["run", "worktree"];
export const HELD = "a process has it open for writing";

export interface Asked {
  /** Delete log and other files. */
  purge?: boolean | undefined;
  /** Log and reports go to the archive as they are, and what only the start has needed goes. Missing: as `stop_files` says. */
  stow?: boolean | undefined;
  /** Compress the logs now; otherwise only when `archive_after` is 0. */
  archive?: boolean;
  /** Try again what failed. */
  retry?: boolean;
  /** Nothing more than what every cleanup does in the end: all facts into one file. */
  seal?: boolean;
}

interface CleanupPlan {
  purge: boolean;
  /** What should have been deleted is still to be deleted, also when somebody comes for another reason. */
  again: ReadonlySet<string>;
  packs: boolean;
  stows: boolean;
  /** All facts become one file, and empty files go. */
  seals: boolean;
  /** A keeper must have let go of the files. */
  touches: boolean;
}

/** All was done before, and nothing more is asked for. */
export function isCleanedUp(facts: Facts, asked: Asked): facts is Facts & { cleanup: CleanupFact } {
  return facts.cleanup !== undefined && !WAYS.some((way) => asked[way]);
}

const WAYS = ["purge", "stow", "archive", "retry", "seal"] as const;

/** Whether the first cleanup of a run stows its files though nobody said so. `said` is the agent's last word in this run. */
export function stowsUnasked(
  setting: Config["stop_files"],
  { stop }: Pick<Facts, "stop">,
  said: string | null,
): boolean {
  if (setting === "keep") return false;
  return isTerminal(said) || (setting === "archive" && stop !== undefined);
}

export function cleanupPlan(facts: Facts, asked: Asked, archiveAfterMs: number): CleanupPlan {
  const { done, cleanup } = facts;
  const { purge = false, stow = false, archive = false, retry = false } = asked;
  const tried = cleanup?.failures ?? [];
  const again = new Set(tried.filter(({ step }) => step === "delete").map(({ path }) => path));
  const due = !purge && done?.verified === true && (archive || (archiveAfterMs === 0 && !cleanup));
  const packs = due || (retry && tried.some(({ step }) => step === "archive"));
  const reports = tried.some(({ path, step }) => step === "archive" && !isLog(path));
  const stows = !purge && done?.verified === true && (stow || (retry && reports));
  const seals = isSealable(facts);
  return { purge, again, packs, stows, seals, touches: purge || packs || stows || seals || again.size > 0 };
}

/** Of one that a launcher gave up the claim must stay in its place: a keeper that is only slow looks for it there. */
export function isSealable({ intent, claim, done }: Facts): boolean {
  return intent !== undefined && claim?.by === "keeper" && done?.verified === true;
}

/** What is lost, stuck or gone is not archived, whatever its row says. */
export function isArchivable(facts: Facts): boolean {
  return hasEnded(facts) && facts.done?.verified === true;
}

function isDoomed({ purge, stows, again }: CleanupPlan, path: string): boolean {
  return purge || again.has(path) || (stows && isSpent(path));
}

/** Needed by a start alone: the prompt that was handed over, and how it was started, which the facts of the run hold too. */
function isSpent(path: string): boolean {
  return /\/(agent_prompt_[^/]+\.txt|deploy_[^/]+\.json)$/.test(path);
}

export function fileReport(
  path: string,
  action: FileReport["action"],
  bytes: number | null,
  error: string | null = null,
  sha256: string | null = null,
): FileReport {
  return { path, action, bytes, sha256, error };
}

/** What is told of a file, after it was hashed or deleted where that is to be done. */
export interface FileStep {
  kind: FileKind;
  report: FileReport;
  hashes?: boolean;
  deletes?: boolean;
}

/** `leases` tells which of these a process has open for writing. */
export function fileSteps(
  tracked: readonly TrackedFile[],
  { done, cleanup }: Facts,
  plan: CleanupPlan,
  leases: (paths: string[]) => Lease[],
): FileStep[] {
  const ours = tracked.filter(({ kind }) => !NOT_OURS.includes(kind));
  const doomed = ours.flatMap(({ path, bytes }) => (bytes !== null && isDoomed(plan, path) ? [path] : []));
  const held = leases(doomed).flatMap((lease, i) => (lease === "held" ? doomed[i] : []));
  return ours.map(({ path, kind, bytes }): FileStep => {
    const before = cleanup?.files.findLast((file) => file.path === path);
    const report = fileReport(path, "kept", bytes, null, before?.sha256);
    if (bytes === null) {
      if (before?.action === "deleted") return { kind, report: before };
      const gone = done?.removed?.findLast((one) => one.path === path);
      return { kind, report: { ...report, action: gone ? "deleted" : "missing", bytes: gone?.bytes ?? null } };
    }
    if (plan.seals && bytes === 0 && (kind === "stderr" || kind === "index")) return { kind, report, deletes: true };
    const archived = before?.action === "archived";
    // The keeper removes the prompt; where no keeper ever was, it is ours to do.
    if (!isDoomed(plan, path) && (kind !== "prompt" || done))
      return archived ? { kind, report: before } : { kind, report, hashes: kind !== "summaries" };
    if (held.includes(path)) return { kind, report: { ...report, action: "failed", error: HELD } };
    return { kind, report, hashes: !archived, deletes: true };
  });
}

/** With what was deleted before, at names that are tracked no more. */
export function withGone(files: readonly FileReport[], { done, cleanup }: Facts): FileReport[] {
  const all = [...files];
  const has = (path: string): boolean => all.some((file) => file.path === path);
  const before = (cleanup?.files ?? []).filter(({ path, action }) => action === "deleted" && !has(path));
  for (const { path, bytes } of done?.removed ?? [])
    if (!has(path) && !before.some((file) => file.path === path)) all.push(fileReport(path, "deleted", bytes));
  return [...all, ...before];
}

/** The account of a log that is not to be packed, or cannot be; undefined for one that is. */
export function unpacked(
  from: string,
  to: string,
  bytes: number | null,
  isHeld: () => boolean,
): FileReport | undefined {
  if (from === to) return fileReport(to, "archived", bytes);
  if (bytes === null) return fileReport(from, "missing", null);
  // Stowed, and with nothing in it that could be packed.
  if (bytes === 0) return fileReport(from, to === `${from}.zst` ? "archived" : "kept", 0);
  return isHeld() ? fileReport(from, "failed", bytes, HELD) : undefined;
}

/** Bytes that are not what the keeper saw, or lines that should be JSON and are not. A torn last line is no damage. */
export function isDamaged({ index, bad_count, partial }: Pick<Verified, "index" | "bad_count" | "partial">): boolean {
  return index === "wrong" || bad_count > (partial ? 1 : 0);
}

/** With the account of a log that packing came to. */
export function withPacked(files: readonly FileReport[], file: FileReport, run: number): FileReport[] {
  // Nothing was done to it now: what was told before is more than packing can see.
  const same = files.find(({ path, action }) => path === file.path && action === file.action);
  return put(files, file.error === null && file.sha256 === null && same ? same : file, run);
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

export function cleanupFact(
  plan: CleanupPlan,
  before: CleanupFact | undefined,
  result: RunResult | null,
  files: FileReport[],
  at: string,
): CleanupFact {
  const packed = plan.packs && !files.some(({ path, action }) => action === "failed" && !isDoomed(plan, path));
  const archived_at = packed ? at : before?.archived_at;
  return {
    result,
    files,
    freed_bytes: files.reduce((sum, { action, bytes }) => sum + (action === "deleted" ? (bytes ?? 0) : 0), 0),
    at,
    failures: failures(plan, files, before?.failures ?? [], at),
    ...(archived_at === undefined ? {} : { archived_at }),
    ...(before?.restored_at === undefined ? {} : { restored_at: before.restored_at }),
  };
}

/** After its plain logs were brought back. */
export function restoredFact(
  cleanup: CleanupFact | undefined,
  files: FileReport[],
  run: number,
  at: string,
): CleanupFact {
  const { archived_at: _, ...before } = cleanup ?? { files: [], freed_bytes: 0 };
  return { ...before, files: files.reduce((all, file) => put(all, file, run), before.files), at, restored_at: at };
}

function failures(
  plan: CleanupPlan,
  files: readonly FileReport[],
  tried: readonly CleanupFailure[],
  at: string,
): CleanupFailure[] {
  return files.flatMap(({ path, action, error }) => {
    if (action !== "failed") return [];
    const before = tried.find((one) => one.path === path);
    const step = isDoomed(plan, path) || isSpent(path) ? "delete" : "archive";
    const same = before?.step === step ? before : undefined;
    return [{ path, step, error: error ?? "", tries: (same?.tries ?? 0) + 1, since: same?.since ?? at, at }];
  });
}
