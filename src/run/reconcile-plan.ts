/** What a look at the runs leads to. Pure: facts, rows and clocks in; what is given up, finished, adopted and told out. */
import { type ErrorCode, MidwatchError } from "../core/errors.ts";
import type { TaskId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import { isDoubtful } from "../core/state-words.ts";
import type { Facts } from "../facts/facts.ts";
import { hasEnded, type Observed, phaseNow } from "../facts/observe.ts";
import { isOverdue } from "../facts/state.ts";
import { placeId } from "../journal/event.ts";
import type { Listed, RunRow } from "../registry/registry.ts";
import type { AuditEvent } from "../workspace/audit.ts";
import type { RunName } from "../workspace/context.ts";

/** What a call spends at most on cleaning up after runs that it was not asked about; telling registry and views takes as long again. */
export const OTHERS_MS = 100;
const OTHERS_BYTES = 16 << 20;
/** How long a keeper that has written its last fact may take to end, for whoever asks about its run and for the rest. */
export const ENDING_MS = 500;
export const ENDING_OTHERS_MS = 25;
/** Another process has it in hands, or nothing can be written now: whoever looks next tries again. */
const LATER: readonly ErrorCode[] = ["LOCK_BUSY", "NOT_WRITABLE", "DISK_FULL"];

/**
 * It was started, says the registry, and its folder does not know of it, or not enough to take it over. So may be one whose keeper was
 * killed before it could answer: that is looked for when the launch is overdue, or somebody asks for its end.
 */
export function isForgotten(facts: Facts, listed: Listed | undefined, nowMs?: number): listed is Listed {
  const { intent, keeperLives } = facts;
  if (intent || keeperLives || hasEnded(facts) || listed === undefined) return false;
  const { phase, created_mono_ms } = listed.run;
  return phase !== "intended" || nowMs === undefined || created_mono_ms === null || isOverdue(created_mono_ms, nowMs);
}

/** What to do with a run that has no intent; undefined for one that has begun. `markedMs` tells when its mark in `active/` was made. */
export function unbornStep(
  { intent, claim, damaged, refuted }: Facts,
  row: RunRow | undefined,
  nowMs: number,
  markedMs: () => number | undefined,
): "drop" | "drop if gone" | "give up" | "wait" | undefined {
  // What cannot be read may have begun: it is shown as damaged.
  if (intent || damaged.length > 0 || refuted !== null || (claim && claim.by !== "launcher")) return undefined;
  if (claim) return "drop";
  // Without a row (the registry was deleted just then) only the mark's own time is known.
  const since = row ? row.created_mono_ms : markedMs();
  if (since === undefined || (since !== null && !isOverdue(since, nowMs))) return "wait";
  // Started, and its folder was deleted: while its keeper lives, that will make it again.
  if (row && row.phase !== "intended") return "drop if gone";
  // Its launcher has not come as far as an intent in time: the claim sees to it that it never will.
  return "give up";
}

/** Whether cleaning up after it is left to a later call: nobody waits for housekeeping that they did not ask for. */
export function isLeft(facts: Facts, asked: boolean, spentMs: number, large = false): boolean {
  const tooLarge = !large && (facts.done?.log_bytes ?? 0) > OTHERS_BYTES;
  return !asked && hasEnded(facts) && (spentMs > OTHERS_MS || tooLarge);
}

/** One run that cannot be finished must not hide the others; undefined for an error that is none of the run's. */
export function afterError(error: unknown, facts: Facts): { left: boolean } | undefined {
  if (!(error instanceof MidwatchError)) return undefined;
  if (LATER.includes(error.code)) return { left: hasEnded(facts) };
  // Its folder was made unusable: there is nothing to clean up in it.
  return error.code === "UNSAFE_PATH" ? { left: false } : undefined;
}

/** A keeper that is gone left something to take up. */
export function isAdoptable(facts: Facts, adopted: boolean, elsewhere: boolean): boolean {
  if (adopted || phaseNow(facts) !== "lost") return false;
  return facts.refuted !== null || !elsewhere;
}

const isNews = (before: RunRow | undefined, { phase, reason }: RunRow): boolean =>
  before?.phase !== phase || isDoubtful(reason) !== isDoubtful(before.reason);

/** Facts that cannot be read or believed are told once: the registry remembers the reason. */
export function doubts(observed: readonly Observed[], listed: ReadonlyMap<string, Listed>): AuditEvent[] {
  return observed.flatMap(({ task, agent, run, row: { reason } }): AuditEvent[] => {
    if (!isDoubtful(reason) || listed.get(`${agent}.${run}`)?.run.reason === reason) return [];
    const id = placeId("doubt", `${agent}.${run}`, reason);
    return [{ type: "error", id, content: `${agent}: ${reason}`, task, agent, data: { run, reason } }];
  });
}

/** What the registry and the views are told; the marks of those that are over go. */
export function settling(
  observed: readonly Observed[],
  listed: ReadonlyMap<string, Listed>,
  hasRun: (run: RunName) => boolean,
): { put: Observed[]; over: Observed[]; views: Set<TaskId> } {
  const before = ({ agent, run }: RunName): RunRow | undefined => listed.get(`${agent}.${run}`)?.run;
  const changed = observed.filter((one) => !one.left && (isNews(before(one), one.row) || one.row.phase === "lost"));
  // Of what is left the registry hears too, so that it counts as ended and is found by its id. Its mark in `active/` stays.
  const left = observed.filter((one) => one.left && (before(one) || !hasRun(one)));
  const over = changed.filter(({ row }) => isOver(row));
  return { put: [...changed, ...left], over, views: new Set(changed.map(({ task }) => task)) };
}
