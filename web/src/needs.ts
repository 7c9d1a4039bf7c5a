/** Who needs a person, why, and what to do: the first thing the page answers. Pure. */
import type { AgentSummary } from "../../src/monitor/summary.ts";
import { type FleetItem, isLive } from "./fleet.ts";
import { bytes, readable, span, words } from "./format.ts";

export type NeedKind = "stuck" | "lost" | "held" | "blocked" | "off_track" | "failed";

export interface Need {
  kind: NeedKind;
  /** A few words for a chip. */
  label: string;
  why: string;
  /** What a person could do. */
  advice: string;
  /** Text of the line behind it. */
  quote: string | null;
  line: number | null;
}

/** The most pressing first. */
const ORDER: readonly NeedKind[] = ["stuck", "lost", "held", "blocked", "off_track", "failed"];

/** `full` has the evidence; the list of agents carries only the verdict. */
export function needOf(item: FleetItem, nowMs: number, full?: AgentSummary): Need | undefined {
  const fact = needOfRun(full ? { ...item, summary: full } : item, nowMs);
  if (fact === undefined) return undefined;
  const evidence = full?.evidence[0];
  const quote = fact.quote ?? (evidence?.log ? evidence.quote : null);
  return {
    ...fact,
    advice: readable(fact.advice),
    quote: quote?.trim() ? quote : null,
    line: evidence?.log?.line_start ?? null,
  };
}

function needOfRun(item: FleetItem, nowMs: number): Omit<Need, "line"> | undefined {
  const { phase, hold, alive, summary, verdict } = item;
  const advice = summary?.recommended_action ?? "";
  const alives = alive?.length ?? 0;
  if (phase === "stuck")
    return {
      kind: "stuck",
      label: "will not end",
      why: `${alives || "Some"} of its processes could not be ended.`,
      advice: "Look at what they wait for; then stop it once more.",
      quote: alive?.map(({ pid, name }) => `${pid} ${name}`).join(", ") ?? null,
    };
  if (phase === "lost" && alives > 0)
    return {
      kind: "lost",
      label: `lost, ${alives} alive`,
      why: "Its keeper is gone and the agent works on. Its exit will not be known.",
      advice: "Let it finish, or stop it.",
      quote: alive?.map(({ pid, name }) => `${pid} ${name}`).join(", ") ?? null,
    };
  if (hold)
    return {
      kind: "held",
      label: `held: ${hold.why}`,
      why: `${HELD[hold.why]} It stands still since ${span(nowMs - Date.parse(hold.since))}; nothing is lost.`,
      advice: hold.why === "disk" ? "Make room on the disk and it goes on by itself." : advice,
      quote: null,
    };
  if (isLive(item) && (verdict === "blocked" || verdict === "off_track"))
    return {
      kind: verdict,
      label: summary?.cause ? `${words(verdict)}: ${words(summary.cause)}` : words(verdict),
      why: whyOf(item) ?? (verdict === "blocked" ? "Something stands in its way." : "It works on something else."),
      advice,
      quote: null,
    };
  return failedNeed(item);
}

const HELD = {
  disk: "The disk is nearly full.",
  quota: "Its quota is used up.",
  host: "This machine has too little left to go on.",
};

function failedNeed(item: FleetItem): Omit<Need, "line"> | undefined {
  const { phase, outcome, reason, exit, bytes: printed } = item;
  const failed = phase === "launch_failed" || outcome === "failed" || outcome === "limit" || outcome === "lost";
  if (!failed) return undefined;
  const how = exit.signal ?? (exit.code === null ? null : `exit ${exit.code}`);
  const plain = outcome === "limit" ? "hit a limit" : words(outcome ?? "failed");
  const label = phase === "launch_failed" ? "did not start" : how === null || exit.code === 0 ? plain : how;
  return {
    kind: outcome === "lost" ? "lost" : "failed",
    label,
    why: sentence(reason) ?? `It ended after ${bytes(printed)} of output${how ? ` with ${how}` : ""}.`,
    advice: item.summary?.recommended_action ?? "Read the end of its log, then restart it.",
    quote: null,
  };
}

/** A rule that stands, in words. Those that are not here are told by what they count. */
const TOLD: Readonly<Record<string, (value: number) => string>> = {
  held: () => "It stands still.",
  permission_wait: () => "It asked for a permission, and nobody has answered.",
  no_first_output: (s) => `It has printed nothing for ${span(s * 1000)} since its start.`,
  model_silent: (s) => `It waits for its model for ${span(s * 1000)}, and nothing of it works.`,
  tool_silent: (s) => `A tool of it has been silent for ${span(s * 1000)} and does no work.`,
  trouble: (n) => `Its model's API refused it ${n} times, and nothing good has followed.`,
  denied: (n) => `${n} tool uses in a row were denied.`,
  repeat: (n) => `It made the same call ${n} times in a row and got the same result each time.`,
  cycle: (n) => `It goes round in a circle of the same calls: ${n} rounds so far.`,
  again: (n) => `It made the same call ${n} times with the same result, and changed nothing in between.`,
  retry: (n) => `It tried the same failing call ${n} times.`,
  same_error: (n) => `${n} of its last 12 steps failed with the same error.`,
  error_streak: (n) => `${n} steps in a row failed.`,
  mistakes: (n) => `${n} of its last 20 steps failed.`,
  no_news: (n) => `${n} steps in a row showed nothing new and changed nothing.`,
  same_words: (n) => `It says the same sentence ${n} times in one message.`,
  off_task: (n) => `${n} steps in a row have next to nothing to do with its task.`,
};

/** The reason that decides, in words. */
function whyOf({ summary }: FleetItem): string | undefined {
  const first = summary?.evidence?.[0];
  if (first) return TOLD[first.rule]?.(first.value) ?? sentence(`${first.about}: ${first.value}`) ?? undefined;
  return sentence(summary?.drift_reasons?.[0]) ?? sentence(summary?.current_activity) ?? undefined;
}

function sentence(text: string | null | undefined): string | null {
  const line = text?.trim();
  if (!line) return null;
  return `${line[0]?.toUpperCase()}${line.slice(1)}${/[.!?…]$/.test(line) ? "" : "."}`;
}

export function byUrgency(a: NeedKind, b: NeedKind): number {
  return ORDER.indexOf(a) - ORDER.indexOf(b);
}

/** One word for the state of a run, as its dot and chip tell it. */
export function stateOf(item: FleetItem): { word: string; tone: Tone } {
  if (item.queued) return { word: "queued", tone: "quiet" };
  if (item.hold) return { word: "held", tone: "bad" };
  switch (item.phase) {
    case "running":
      return { word: "running", tone: "live" };
    case "stuck":
    case "lost":
      return { word: item.phase, tone: "bad" };
    case "launch_failed":
      return { word: "did not start", tone: "bad" };
    case "intended":
    case "launching":
    case "stopping":
      return { word: item.phase, tone: "warn" };
    default:
      return item.outcome === "completed"
        ? { word: "completed", tone: "ok" }
        : item.outcome === "stopped"
          ? { word: "stopped", tone: "quiet" }
          : { word: item.outcome === "limit" ? "hit a limit" : (item.outcome ?? item.phase), tone: "bad" };
  }
}

export type Tone = "live" | "ok" | "warn" | "bad" | "quiet";

export const VERDICT_TONES: Readonly<Record<string, Tone>> = {
  on_track: "ok",
  drifting: "warn",
  off_track: "bad",
  blocked: "bad",
  unknown: "quiet",
};
