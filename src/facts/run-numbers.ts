/** The runs of an agent by number. There may be gaps: a number whose launch was given up before its intent is not used again. */
import { existsSync, readdirSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";
import type { RunPaths } from "../disk/layout.ts";
import type { Context, RunName } from "../workspace/context.ts";

/** Of the folders and sealed files that are there, ascending. */
export function runNumbers({ layout }: Pick<Context, "layout">, { task, agent }: Omit<RunName, "run">): number[] {
  let names: string[];
  try {
    names = readdirSync(layout.agent(task, agent).runs);
  } catch (error) {
    throwIfExhausted(error);
    return [];
  }
  return numbersIn(names);
}

/** Each once: a folder may be there beside its sealed file. */
export function numbersIn(names: readonly string[]): number[] {
  const numbers = names.flatMap((name) => /^([1-9]\d{0,8})(\.json)?$/.exec(name)?.[1] ?? []);
  return [...new Set(numbers.map(Number))].sort((a, b) => a - b);
}

/** Whether the run has come as far as this fact. A sealed one has come to its end. */
export function hasFact(paths: RunPaths, fact: "claim" | "intent" | "start"): boolean {
  return existsSync(paths[fact]) || existsSync(paths.sealed);
}

/** Whether a later run has come as far as an intent: then the names in logs/ are that one's. */
export function hasLater(context: Pick<Context, "layout">, { task, agent, run }: RunName): boolean {
  const later = runNumbers(context, { task, agent }).filter((number) => number > run);
  return later.some((number) => hasFact(context.layout.run(task, agent, number), "intent"));
}
