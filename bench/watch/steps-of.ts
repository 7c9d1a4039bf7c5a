/** The steps of a run as the judge sees them; null where a step was only a message. */
import type { Moment } from "../../src/judge/judge.ts";
import { type Step, Steps } from "../../src/judge/steps.ts";
import { Stuck } from "../../src/judge/stuck.ts";

export function stepsOf(moments: readonly (readonly Moment[])[]): (Step | null)[] {
  const steps = new Steps();
  return moments.map((step) => {
    let made: Step | null = null;
    for (const { activity, seq } of step) {
      if (activity.kind === "tool") steps.use(activity, seq);
      if (activity.kind === "tool_result") made = steps.result(activity, seq);
    }
    return made;
  });
}

/** The highest value that each stuck rule comes to in a run. */
export function stuckValues(moments: readonly (readonly Moment[])[]): Record<string, number> {
  const stuck = new Stuck();
  const most: Record<string, number> = {};
  for (const step of stepsOf(moments)) {
    if (step === null) continue;
    for (const { rule, value } of stuck.add(step)) most[rule] = Math.max(most[rule] ?? 0, value);
  }
  return most;
}
