/** How a need is shown. Who needs a person, and why, is the server's word (`attention`); this only finds the line behind it. */

import { ATTENTION_KINDS, type AttentionKind } from "../../src/core/attention-record.ts";
import { KIND_WORDS, SILENT_RULES, type Tone } from "../../src/core/state-words.ts";
import type { AgentSummary } from "../../src/core/summary.ts";
import { type FleetItem, isLive } from "./fleet.ts";
import { readable, words } from "./format.ts";

export interface Need {
  kind: AttentionKind;
  /** A few words for a chip. */
  label: string;
  why: string;
  /** A command. */
  next: string;
  /** Text of the line behind it. */
  quote: string | null;
  line: number | null;
  /** It has ended and no answer is needed: a short card will do. */
  brief: boolean;
}

/** `full` has the evidence; the list of agents carries only the verdict. */
export function needOf(item: FleetItem, full?: AgentSummary): Need | undefined {
  const { attention, summary, alive } = item;
  if (attention === null) return undefined;
  const { kind, why, next } = attention;
  const live = isLive(item);
  const evidence = live ? full?.evidence.find(({ rule }) => !SILENT_RULES.includes(rule)) : undefined;
  const processes = alive?.map(({ pid, name }) => `${pid} ${name}`).join(", ");
  const quote = processes || (evidence?.log ? evidence.quote : "");
  return {
    kind,
    label: kind === "blocked" && summary?.cause ? `${KIND_WORDS[kind]}: ${words(summary.cause)}` : KIND_WORDS[kind],
    why: readable(why),
    next,
    quote: quote.trim() === "" ? null : quote,
    line: evidence?.log?.line_start ?? null,
    brief: !live && kind !== "asks" && kind !== "denied",
  };
}

export function byUrgency(a: AttentionKind, b: AttentionKind): number {
  return ATTENTION_KINDS.indexOf(a) - ATTENTION_KINDS.indexOf(b);
}

export const VERDICT_TONES: Readonly<Record<string, Tone>> = {
  on_track: "ok",
  drifting: "warn",
  off_track: "bad",
  blocked: "bad",
  unknown: "quiet",
};
