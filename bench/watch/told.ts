/** When our judge begins to say something of a task's steps, and what. */
import { Judge } from "../../src/judge/judge.ts";
import { RULES, type RuleName, type Thresholds } from "../../src/judge/rules.ts";
import { FACTS } from "./ours.ts";
import { momentsOf, type RunStep } from "./runs.ts";
import type { Task } from "./sessions.ts";

export type Told = "watch" | "alert";

export interface Onset {
  /** The step at which it is told. */
  at: number;
  level: Told;
  rules: RuleName[];
  /** Told by the run itself, and not by behaviour. */
  fact: boolean;
}

/** Every rise of the level in a task on its own, step by step. */
export function onsetsOf(steps: readonly RunStep[], prompt: string, thresholds: Thresholds = {}): Onset[] {
  return follow(new Judge(prompt, thresholds), steps);
}

/** The same for each task of a session, by one judge that hears what the person asks next, as the watch does. */
export function onsetsIn(tasks: readonly Task[]): Map<Task, Onset[]> {
  const judge = new Judge(tasks[0]?.run.task ?? "");
  return new Map(
    tasks.map((task) => {
      judge.add({ kind: "note", name: "message_received", text: task.prompt }, null, 0);
      return [task, follow(judge, task.steps)];
    }),
  );
}

function follow(judge: Judge, steps: readonly RunStep[]): Onset[] {
  const onsets: Onset[] = [];
  const before = { fact: 0, behaviour: 0 };
  momentsOf(steps).forEach((moments, at) => {
    for (const { activity, atMs, seq } of moments) judge.add(activity, atMs, seq);
    const { reasons } = judge.verdict(FACTS);
    for (const whose of ["fact", "behaviour"] as const) {
      const told = reasons.filter(({ rule }) => RULES[rule].fact === (whose === "fact"));
      const level = told.some((reason) => reason.level === "alert") ? "alert" : "watch";
      const now = told.length === 0 ? 0 : level === "watch" ? 1 : 2;
      const rules = told.filter((reason) => reason.level === level).map(({ rule }) => rule);
      if (now > before[whose]) onsets.push({ at, level, rules, fact: whose === "fact" });
      before[whose] = now;
    }
  });
  return onsets;
}

/** Rises to this level or above it: what goes from watch to alert is one trouble, and not two. */
export function risesTo(all: readonly Onset[], level: Told): Onset[] {
  const onsets = all.filter(({ fact }) => !fact);
  return onsets.filter((onset, index) => {
    if (level === "alert") return onset.level === "alert";
    const before = onsets[index - 1];
    return !(onset.level === "alert" && before?.level === "watch");
  });
}
