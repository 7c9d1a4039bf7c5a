/**
 * Real sessions of people with an agent, cut into tasks: what a person asks for begins a new one. Nobody called these agents stuck, so
 * what is told of them is wrong until a person who reads it says otherwise.
 */
import type { Run, RunStep } from "./runs.ts";

export interface Task {
  run: Run;
  prompt: string;
  /** The agent's own steps, with their place in the session. */
  steps: RunStep[];
}

const NOT_ITS_OWN: readonly string[] = ["user", "notice", "compact"];
/** A longer pause is the person's or the machine's sleep, and no work. */
const PAUSE_S = 300;

export function tasksOf(run: Run): Task[] {
  const tasks: Task[] = [{ run, prompt: run.task, steps: [] }];
  for (const step of run.steps) {
    if (step.tool === "user") tasks.push({ run, prompt: step.args, steps: [] });
    else if (!NOT_ITS_OWN.includes(step.tool)) tasks.at(-1)?.steps.push(step);
  }
  return tasks.filter(({ steps }) => steps.length > 0);
}

/** Hours in which the agent worked. */
export function hoursOf(tasks: readonly Task[]): number {
  let seconds = 0;
  for (const { steps } of tasks)
    steps.forEach(({ t }, at) => {
      const before = steps[at - 1]?.t ?? null;
      if (t !== null && before !== null) seconds += Math.min(PAUSE_S, Math.max(0, t - before));
    });
  return seconds / 3600;
}

/** A run of a task's steps alone, for detectors that read a whole run. */
export function asRun({ run, prompt, steps }: Task): Run {
  return { ...run, task: prompt, steps };
}

/** Real sessions are those with more than one person's word in them. */
export function sessionsOf(runs: readonly Run[]): Run[] {
  return runs.filter(({ ds }) => ds === "cc_entire");
}
