/**
 * How what a model says gets into a summary: as words and reasons with its name on them. The verdict, its level and its confidence are the
 * rules'; where they alert, so is the wording.
 */

import type { AgentSummary, SecondOpinion } from "../../core/summary.ts";
import { iso } from "../../core/time.ts";
import type { LineRange } from "../../judge/steps.ts";
import type { ByteRange } from "../summary.ts";

/** With what it says, while that is about the agent as it is: the same verdict, and not too long ago unless nothing is new since. */
export function withOpinion(
  summary: AgentSummary,
  opinion: SecondOpinion | null,
  { everyMs, bytes }: { everyMs: number; bytes(place: LineRange): ByteRange },
): AgentSummary {
  if (opinion === null || opinion.run !== summary.run || opinion.about !== summary.id) return summary;
  const old = opinion.at < iso(Date.parse(summary.timestamp) - 2 * everyMs);
  if (old && opinion.line_end < summary.position.line) return summary;
  return {
    ...summary,
    current_activity: summary.level === "alert" ? summary.current_activity : opinion.activity,
    drift_reasons: [...summary.drift_reasons, ...opinion.reasons.map(({ text }) => `llm: ${text}`)],
    evidence: [
      ...summary.evidence,
      ...opinion.reasons.map(({ text, quote, line }) => {
        const { start, end } = bytes({ from: line, to: line });
        return {
          source: "llm" as const,
          rule: "llm" as const,
          level: "watch" as const,
          about: text,
          value: 1,
          threshold: 1,
          log: { run: summary.run, line_start: line, line_end: line, byte_start: start, byte_end: end },
          quote,
        };
      }),
    ],
    second_opinion: opinion,
  };
}
