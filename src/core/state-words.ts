/** What the state of an agent is called, for the terminal and the page alike. Pure. */

import type { AttentionKind } from "./attention-record.ts";
import type { LimitName } from "./intent.ts";
import type { PassedLimit } from "./needs-watch.ts";
import type { ListRecord, Phase } from "./types.ts";

/** Why an agent needs a person, in a word or two. */
export const KIND_WORDS: Readonly<Record<AttentionKind, string>> = {
  lost: "lost",
  stuck: "cannot be ended",
  damaged: "damaged",
  held: "held",
  asks: "asks you",
  blocked: "blocked",
  off_track: "off track",
  budget: "budget spent",
  launch_failed: "did not start",
  failed: "failed",
  denied: "not permitted",
  gave_up: "gave up",
  limit: "limit reached",
};

/** The beginning of a reason that names facts which cannot be read. */
export const DAMAGED = "damaged: ";
const REFUTED = "says that it has ended, but processes of it live";

/** The reason of a run of which this fact says what the kernel does not. */
export function refutedWords(fact: string): string {
  return `${fact} ${REFUTED}`;
}

/** Its facts cannot be believed, says the reason. */
export function isDoubtful(reason: string | null | undefined): reason is string {
  return typeof reason === "string" && (reason.startsWith(DAMAGED) || reason.endsWith(REFUTED));
}

export type Tone = "live" | "ok" | "warn" | "bad" | "quiet";

type Stated = Pick<ListRecord, "outcome" | "hold" | "exit" | "alive" | "queued"> & {
  wake?: ListRecord["wake"] | undefined;
  phase: Phase | "unreachable";
};

/** In few words, and how they are meant. */
export function stateOf({ phase, outcome, hold, exit, alive, queued, wake }: Stated): { word: string; tone: Tone } {
  if (phase === "unreachable") return { word: "unreachable", tone: "warn" };
  if (queued)
    return wake?.on === "budget" ? { word: "queued (budget)", tone: "warn" } : { word: "queued", tone: "quiet" };
  if (hold) return { word: `held (${hold.why})`, tone: "warn" };
  switch (phase) {
    case "intended":
    case "launching":
      return { word: "starting", tone: "warn" };
    case "running":
      return { word: "running", tone: "live" };
    case "stopping":
      return { word: "stopping", tone: "warn" };
    case "exited":
      return { word: "ending", tone: "warn" };
    case "lost":
      return { word: alive?.length ? `lost, ${alive.length} alive` : "lost", tone: "bad" };
    case "stuck":
      return { word: "cannot be ended", tone: "bad" };
    case "launch_failed":
      return outcome === "stopped" ? { word: "stopped", tone: "quiet" } : { word: "did not start", tone: "bad" };
    case "drained":
    case "archived":
      return ended(outcome, exit);
  }
}

function ended(outcome: ListRecord["outcome"], exit: ListRecord["exit"]): { word: string; tone: Tone } {
  const how = exit.signal ?? (exit.code === null ? null : `exit ${exit.code}`);
  switch (outcome) {
    case "completed":
      return { word: "completed", tone: "ok" };
    case "stopped":
      return { word: "stopped", tone: "quiet" };
    case "limit":
      return { word: "limit reached", tone: "bad" };
    case "failed":
      return { word: how === null || exit.code === 0 ? "failed" : `failed (${how})`, tone: "bad" };
    case "lost":
      return { word: "lost", tone: "bad" };
    case null:
      return { word: "ended", tone: "quiet" };
  }
}

/** How long, as one says it: 300 ms, 45 s, 9 min, 2 h 5 min, 3 d. */
export function aboutFor(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (ms > 0 && ms < 1000) return `${Math.round(ms)} ms`;
  if (s < 90) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 90) return `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 48) return min % 60 === 0 || h > 9 ? `${h} h` : `${h} h ${min % 60} min`;
  return `${Math.floor(h / 24)} d`;
}

const LIMITS: Readonly<Record<LimitName, string>> = {
  output: "output",
  disk: "disk",
  wall: "time",
  idle: "silence",
  tokens: "token",
  cost: "cost",
  budget: "budget",
};

/** Why a run that passed a limit was ended; `most` is the limit in words, empty when it is not known. */
export function limitWords(limit: LimitName, most: string): string {
  return `Stopped: ${most === "" ? "" : `${most} `}${LIMITS[limit]} limit reached.`;
}

/** Cents, and what is less than ten of them to a hundredth of a cent. */
export function usdText(usd: number): string {
  const exact = usd.toFixed(4).replace(/0{1,2}$/, "");
  return `$${usd < 0.1 && exact.length > usd.toFixed(2).length ? exact : usd.toFixed(2)}`;
}

/** A sentence behind others; empty for limits of which nothing is spent. */
export function overWords({ limit, spent, overshoot }: PassedLimit): string {
  if (spent === null || overshoot === null) return "";
  const said = (value: number): string => (limit === "cost" ? usdText(value) : value.toLocaleString("en-US"));
  return ` ${said(spent)} spent in the end, ${said(overshoot)} over.`;
}

/** Of one that goes on. */
export function passedWords({ limit, value, spent }: PassedLimit): string {
  const said = (count: number): string => (limit === "cost" ? usdText(count) : count.toLocaleString("en-US"));
  const most = value === null || spent === null ? "" : `: ${said(spent)} spent, at most ${said(value)}`;
  return `Passed its ${LIMITS[limit]} limit${most}; it goes on.`;
}

interface Sure {
  confidence_score: number;
  confidence_cases?: number;
  level: string;
  verdict_source: string;
}

const SOURCES: Readonly<Record<string, string>> = {
  fact: "a fact of the run",
  rule: "a rule",
  "rule+model": "a rule and a model",
};

/** How far a verdict can be trusted, and whose word it is; empty where nothing is known. */
export function sureWords({
  confidence_score: share,
  confidence_cases: cases = 0,
  level,
  verdict_source: source,
}: Sure): string {
  const told = share > 0 ? `${Math.round(share * 100)} % reliable in tests` : "";
  if (level === "none") return told;
  const on = told === "" ? "" : cases > 0 ? `${told} (${cases} labelled runs)` : `${told} (assumed)`;
  return [on, SOURCES[source] === undefined ? "" : `by ${SOURCES[source]}`].filter(Boolean).join(", ");
}

export interface Standing {
  value: number;
  cause: string | null;
  /** Since its last output, which goes on while somebody reads this. */
  silentMs: number;
}

/** Troubles that no retry mends are not counted: the first is as good as the tenth. */
const TROUBLES: Readonly<Record<string, (value: number) => string>> = {
  quota: () => "Usage limit reached",
  auth: () => "Its API key or login was refused",
  rate_limit: (n) => `Rate-limited ${n} times; no reply since`,
  overloaded: (n) => `Model overloaded ${n} times; no reply since`,
  network: (n) => `No connection to its model ${n} times; no reply since`,
  api_error: (n) => `${n} API errors; no reply since`,
};

const RULES: Readonly<Record<string, (standing: Standing) => string>> = {
  trouble: ({ value, cause }) => TROUBLES[cause ?? ""]?.(value) ?? `${value} API errors; no reply since`,
  held: () => "It is held, or its process is stopped",
  failed: () => "The run did not complete",
  never_started: () => "Did not start",
  permission_wait: ({ silentMs }) => `Asks for a permission; no answer for ${aboutFor(silentMs)}`,
  no_first_output: ({ silentMs }) => `No output for ${aboutFor(silentMs)} since it started`,
  model_silent: ({ silentMs }) => `No model reply for ${aboutFor(silentMs)}; no tool running`,
  tool_silent: ({ silentMs }) => `A tool has been silent for ${aboutFor(silentMs)} and does no work`,
  denied: ({ value }) => `${value} tool calls in a row were not permitted`,
  repeat: ({ value }) => `Same call with the same result ${value} times in a row`,
  cycle: ({ value }) => `${value} rounds of the same calls with the same results`,
  again: ({ value }) => `Same call with the same result ${value} times, and nothing changed in between`,
  retry: ({ value }) => `Same call failed in the same way ${value} times`,
  same_edit: ({ value }) => `Made or took back the same edit ${value} times`,
  same_answer: ({ value }) => `Got the same answer ${value} times, and nothing changed in between`,
  gone: ({ value }) => `A tool or program is not there; it was tried ${value} times`,
  same_error: ({ value }) => `${value} of the last 24 steps failed with the same error`,
  no_news: ({ value }) => `${value} steps in a row showed nothing new and changed nothing`,
  same_words: ({ value }) => `Said the same sentence ${value} times in one message`,
  off_task: ({ value }) => `${value} steps in a row had next to nothing to do with its task`,
};

/** Rules that count seconds since the last output: what was quoted when they were told is soon too little. */
export const SILENT_RULES: readonly string[] = ["permission_wait", "no_first_output", "model_silent", "tool_silent"];

/** What a rule of the watch has found, as a sentence; `about` is what the rule counts, for one without words here. */
export function standingWords(rule: string, about: string, standing: Standing): string {
  const words = RULES[rule]?.(standing) ?? about;
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
