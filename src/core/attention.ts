/**
 * Who needs a person, why, and what to type next. The one place that decides it: `midwatch` alone, `ls`, `show`, MCP, HTTP and the
 * page all show what this says. Pure. It never changes what a run is: `outcome` stays what the CLI said.
 */

import type { Attention, Unsettled } from "./attention-record.ts";
import { aboutFor, isDoubtful, passedWords, standingWords } from "./state-words.ts";
import type { ListRecord, Verdict } from "./types.ts";

/** What the watch says of a run that lives. */
export interface Watched {
  verdict: Verdict;
  cause: string | null;
  resets_at: string | null;
  /** The rule that decides, with what it counted. */
  rule: string | null;
  value: number;
  /** The question that it asked when it finished its last turn, of a run that takes messages. */
  asks: string | null;
}

export interface Known
  extends Omit<
    ListRecord,
    "attention" | "role" | "parent" | "run" | "guarantee" | "verdict" | "queued" | "wake" | "log"
  > {
  /** Its CLI's session can go on. */
  session: string | null;
  unsettled: Unsettled | null;
  watched: Watched | null;
}

/** Below this a run that failed at everything is more likely to have answered a small question. */
const FAILURES_FROM = 3;
const EDITS = /edit|write|patch|file_change/i;

export function attentionOf(run: Known, nowMs: number): Attention | null {
  if (run.outcome !== null) return ofProcesses(run, nowMs) ?? ofFacts(run) ?? ofEnded(run);
  return ofProcesses(run, nowMs) ?? ofFacts(run) ?? ofLiving(run, nowMs) ?? ofPassed(run);
}

/** It passed a limit, and nobody ends it for that. */
function ofPassed({ agent, phase, limit }: Known): Attention | null {
  if (limit === null || phase !== "running") return null;
  return { kind: "limit", why: passedWords(limit), next: `midwatch stop ${agent}` };
}

/** Somebody wrote into its folder, or the disk lost something: what else is told of it may be wrong. */
function ofFacts({ agent, reason }: Known): Attention | null {
  if (!isDoubtful(reason)) return null;
  return { kind: "damaged", why: sentence(reason) ?? "", next: `midwatch stop ${agent}` };
}

/** What the kernel and the keeper say comes first. */
function ofProcesses({ agent, phase, alive, hold, reason }: Known, nowMs: number): Attention | null {
  if (phase === "lost" && alive?.length !== 0) {
    const lives =
      alive === null
        ? "nobody can see from here whether it still works"
        : `${alive.length} of its processes ${alive.length === 1 ? "works" : "work"} on`;
    const doubt = isDoubtful(reason) ? ` ${sentence(reason)}` : "";
    return { kind: "lost", why: `Its keeper is gone; ${lives}.${doubt}`, next: `midwatch stop ${agent}` };
  }
  if (phase === "stuck")
    return { kind: "stuck", why: "Some of its processes cannot be ended.", next: `midwatch show ${agent}` };
  if (hold === null) return null;
  const since = aboutFor(nowMs - Date.parse(hold.since));
  return { kind: "held", why: `${HELD[hold.why]} Paused for ${since}; nothing is lost.`, next: "midwatch health" };
}

const HELD = {
  disk: "The disk is nearly full.",
  quota: "Its quota is used up.",
  host: "This machine has too little left to go on.",
};

function ofLiving({ agent, watched, last_output_at, started_at }: Known, nowMs: number): Attention | null {
  if (watched === null) return null;
  const { verdict, cause, resets_at, rule, value, asks } = watched;
  if (verdict === "blocked" || verdict === "off_track") {
    const since = last_output_at ?? started_at;
    const silentMs = since === null ? value * 1000 : nowMs - Date.parse(since);
    const words = standingWords(rule ?? "", "something stands in its way", { value, cause, silentMs });
    const resets = resets_at === null ? "" : ` Resets at ${resets_at}.`;
    const kind = cause === "permission_wait" ? "asks" : verdict;
    return { kind, why: `${words}${resets}`, next: `midwatch summary ${agent}` };
  }
  return asks === null ? null : { kind: "asks", why: `It asks: ${asks}`, next: `midwatch send ${agent} "your answer"` };
}

function ofEnded(run: Known): Attention | null {
  const { agent, phase, outcome, exit, reason, unsettled, session, bytes } = run;
  const log = `midwatch logs ${bytes === 0 ? "--stderr " : ""}${agent}`;
  if (phase === "launch_failed" && outcome !== "stopped")
    return {
      kind: "launch_failed",
      why: sentence(reason) ?? "It could not be started.",
      next: `midwatch show ${agent}`,
    };
  if (outcome === "lost")
    return { kind: "lost", why: sentence(reason) ?? "Its keeper was gone; nobody saw how it ended.", next: log };
  if (outcome === "limit") {
    const next = session === null ? log : `midwatch restart ${agent} --resume`;
    return { kind: "limit", why: sentence(reason) ?? "Stopped: limit reached.", next };
  }
  if (outcome !== "completed" && outcome !== "failed") return null;
  const left = unsettled === null ? null : ofUnsettled(run, unsettled, log);
  if (left !== null || outcome === "completed") return left;
  const how = exit.signal ?? (exit.code === null ? "exit not known" : `exit ${exit.code}`);
  return { kind: "failed", why: sentence(reason) ?? `Run failed (${how}).`, next: log };
}

/** A run may end without a fault and yet wait for somebody. */
function ofUnsettled(run: Known, { asks, deferred, denied, failures }: Unsettled, log: string): Attention | null {
  const { agent, session, outcome } = run;
  if (deferred !== null)
    return { kind: "asks", why: `It waits for you to decide: ${deferred}.`, next: `midwatch show ${agent}` };
  if (denied !== null) {
    const more = denied.count === 1 ? "" : ` and ${denied.count - 1} more`;
    const call = denied.call === "" ? "" : ` (${denied.call})`;
    return { kind: "denied", why: `Not permitted: ${denied.tool}${call}${more}.`, next: allow(run, denied) ?? log };
  }
  if (outcome !== "completed") return null;
  if (asks !== null) {
    const next = session === null ? log : `midwatch restart ${agent} --resume "your answer"`;
    return { kind: "asks", why: `It asks: ${asks}`, next };
  }
  if (failures === null || failures < FAILURES_FROM) return null;
  return { kind: "gave_up", why: `It ended after ${failures} tool calls that all failed.`, next: log };
}

/** The least that permits the call; undefined when the run was permitted everything and something else said no. */
function allow({ task, driver }: Known, denied: NonNullable<Unsettled["denied"]>): string | undefined {
  if (denied.permission === "all") return undefined;
  const permission = EDITS.test(denied.tool) && denied.permission !== "edit" ? "edit" : "all";
  return `midwatch run --driver ${driver} --permission ${permission} --task ${task} "do this task"`;
}

function sentence(text: string | null): string | null {
  const line = text?.trim();
  if (!line) return null;
  return `${line[0]?.toUpperCase()}${line.slice(1)}${/[.!?…]$/.test(line) ? "" : "."}`;
}
