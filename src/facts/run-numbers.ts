/** The runs of an agent by number. There may be gaps: a number whose launch was given up before its intent is not used again. */
import { existsSync, readdirSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";
import type { Context, RunName } from "../workspace/context.ts";

/** Of the folders that are there, ascending. */
export function runNumbers({ layout }: Pick<Context, "layout">, { task, agent }: Omit<RunName, "run">): number[] {
  let names: string[];
  try {
    names = readdirSync(layout.agent(task, agent).runs);
  } catch (error) {
    throwIfExhausted(error);
    return [];
  }
  return names
    .map(Number)
    .filter((number) => Number.isSafeInteger(number) && number > 0)
    .sort((a, b) => a - b);
}

/** Whether a later run has come as far as an intent: then the names in logs/ are that one's. */
export function hasLater(context: Pick<Context, "layout">, { task, agent, run }: RunName): boolean {
  const later = runNumbers(context, { task, agent }).filter((number) => number > run);
  return later.some((number) => existsSync(context.layout.run(task, agent, number).intent));
}
