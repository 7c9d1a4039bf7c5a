/** What our judge says of a run, asked after every step as the watch asks it. */
import type { Level } from "../../src/core/summary.ts";
import { type Facts, Judge, type Judgement } from "../../src/judge/judge.ts";
import type { RuleName } from "../../src/judge/rules.ts";
import { momentsOf, type Run } from "./runs.ts";

export interface Judged {
  /** The first step at which a stuck rule stood at this level; -1 for never. */
  watch: number;
  alert: number;
  /** The first step with a verdict other than on_track and unknown. */
  flagged: number;
  /** The first step at or after `from` at which it was said to work on something else. */
  offTask: number;
  rules: Map<RuleName, Level>;
}

/** Nothing but the stream is known of these runs. */
export const FACTS: Facts = {
  nowMs: 0,
  phase: "running",
  outcome: null,
  why: null,
  startedMs: 0,
  lastOutputMs: 0,
  hold: null,
  speaks: true,
  process: null,
};

export function ours(run: Run, from = 0): Judged {
  const judge = new Judge(run.task);
  const judged: Judged = { watch: -1, alert: -1, flagged: -1, offTask: -1, rules: new Map() };
  momentsOf(run.steps).forEach((moments, step) => {
    for (const { activity, atMs, seq } of moments) judge.add(activity, atMs, seq);
    note(judged, judge.verdict(FACTS), step, from);
  });
  return judged;
}

function note(judged: Judged, { verdict, reasons }: Judgement, step: number, from: number): void {
  const first = (key: "watch" | "alert" | "flagged" | "offTask"): void => {
    if (judged[key] < 0) judged[key] = step;
  };
  for (const { rule, level } of reasons) {
    if (judged.rules.get(rule) !== "alert") judged.rules.set(rule, level);
    if (rule === "off_task") {
      if (step >= from) first("offTask");
      continue;
    }
    first("watch");
    if (level === "alert") first("alert");
  }
  if (verdict !== "on_track" && verdict !== "unknown") first("flagged");
}
