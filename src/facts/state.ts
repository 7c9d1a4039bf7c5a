/** What a run's facts mean. Pure: the same facts and the same answer about its keeper always give the same state. */
import type { IntentFact, LimitName } from "../core/intent.ts";
import { formatSize } from "../core/size.ts";
import { aboutFor, DAMAGED, limitWords, overWords, refutedWords, usdText } from "../core/state-words.ts";
import type { Outcome, Phase } from "../core/types.ts";
import type { FactName } from "./fact-shapes.ts";
import type { Facts } from "./facts.ts";
import { passedLimit } from "./passed-limit.ts";

/** A launcher that has started no keeper by then is given up; whoever does so must create the claim first. */
export const LAUNCH_MS = 10_000;

export function phaseOf(facts: Facts, keeperLives: boolean): Phase {
  const { claim, start, stop, exit, stuck, done, cleanup, unreadable, refuted } = facts;
  // What is said to be over, and lives without its keeper.
  if (refuted !== null && !keeperLives) return "lost";
  if (refuted === null && (start?.exec_error || claim?.by === "launcher")) return "launch_failed";
  if (done) return cleanup?.files.some(({ action }) => action === "archived") ? "archived" : "drained";
  // Only a run that has ended is sealed: whatever the file said, it is over.
  if (unreadable && refuted === null) return "drained";
  if (!claim && !keeperLives && !start) return "intended";
  // A keeper killed between its fork and start.json may have left an agent behind: lost too, never "failed to start".
  if (!keeperLives) return "lost";
  if (stuck) return "stuck";
  if (exit) return "exited";
  if (stop) return "stopping";
  return start ? "running" : "launching";
}

/** It is there, and cannot be used. */
export function isDamaged(damaged: readonly string[], fact: FactName): boolean {
  return damaged.some((one) => one.startsWith(`${fact} `));
}

export function outcomeOf(facts: Facts, phase: Phase): Outcome | null {
  const { exit, done, stop, start, cleanup, damaged, unreadable, refuted } = facts;
  if (refuted !== null) return phase === "lost" ? "lost" : null;
  if (phase === "launch_failed") return stop && !start ? "stopped" : "failed";
  if (exit?.limit || (exit?.stop_requested && stop?.limit)) return "limit";
  if (cleanup?.result) return cleanup.result.outcome;
  if (exit?.stop_requested) return "stopped";
  if (exit && exit.code === 0) return "completed";
  if (exit && (exit.code !== null || exit.signal !== null)) return interruptedBy(facts) ? "limit" : "failed";
  if (exit || phase === "lost" || unreadable) return "lost";
  // Its end was seen, and what was seen cannot be read any more.
  if (done && isDamaged(damaged, "exit.json")) return "lost";
  return done ? "stopped" : null;
}

/** Why it did not complete, in one sentence; null where nothing more is known than exit and outcome say. */
export function reasonOf(facts: Facts, phase: Phase): string | null {
  const { intent, claim, start, stop, exit, cleanup, damaged, refuted } = facts;
  if (refuted !== null) return refutedWords(refuted);
  if (damaged.length > 0) return `${DAMAGED}${damaged.join("; ")}`;
  if (phase === "launch_failed")
    return claim?.why ?? (start?.exec_error ? `${start.exec_error.what}: ${start.exec_error.name}` : null);
  const limit = exit?.limit ?? stop?.limit;
  const passed = passedLimit(facts);
  const over = passed && cleanup ? overWords(passed) : "";
  if (limit === "budget" && exit) return `Stopped: ${stop?.reason ?? "a budget is spent"}.`;
  if (limit && exit) return `${limitWords(limit, intent ? mostOf(intent.limits, limit) : "")}${over}`;
  if (exit?.stop_requested) return stop?.reason ?? null;
  const interrupted = interruptedBy(facts);
  if (interrupted && outcomeOf(facts, phase) === "limit") {
    const figures = facts.limit ? ` (${facts.limit.reason})` : "";
    return `was interrupted: it passed its ${interrupted} limit${figures}${over === "" ? "" : `.${over}`}`;
  }
  const reason = cleanup?.result?.reason ?? null;
  return reason === null || outcomeOf(facts, phase) !== "limit" ? reason : `${reason}${over}`;
}

/** The limit for which it was interrupted. It may have gone on and completed all the same. */
export function interruptedBy({ exit, limit }: Facts): LimitName | null {
  const ours = (limit?.action ?? "interrupt") === "interrupt" ? limit?.limit : undefined;
  return exit?.interrupted ?? ours ?? null;
}

function mostOf(limits: IntentFact["limits"], limit: LimitName): string {
  switch (limit) {
    case "wall":
      return aboutFor(limits.wall_ms);
    case "idle":
      return aboutFor(limits.idle_ms);
    case "output":
      return formatSize(limits.output_bytes);
    case "tokens":
      return limits.tokens.toLocaleString("en-US");
    case "cost":
      return usdText(limits.cost_usd);
    case "disk":
    case "budget":
      return "";
  }
}

export function isLaunchOverdue({ intent, claim, done, unreadable }: Facts, nowMonoMs: number): boolean {
  if (!intent || intent.queued || claim || done || unreadable) return false;
  return isOverdue(intent.created_mono_ms, nowMonoMs);
}

/** A time that is still to come is one of another boot. */
export function isOverdue(sinceMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - sinceMs) > LAUNCH_MS;
}
