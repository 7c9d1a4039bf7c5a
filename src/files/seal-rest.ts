/**
 * Sealing what no cleanup has sealed: the runs of a release that did not do so, and those whose sealing was interrupted. Nobody waits for
 * it: a round does some of them, the next one goes on.
 */
import { readdirSync } from "node:fs";
import { throwIfExhausted, toMidwatchError } from "../core/errors.ts";
import { isAgentId, isTaskId } from "../core/ids.ts";
import { readFacts } from "../facts/facts.ts";
import { numbersIn } from "../facts/run-numbers.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";
import { cleanUp } from "./cleanup.ts";
import { isSealable } from "./cleanup-plan.ts";

/** What a round spends on it, and how long it waits for who has one of them in hands. */
const SEAL_MS = 100;
const LOCK_MS = 10;

/**
 * Runs with a folder, by the names alone: most runs of a workspace are sealed and have none. Not of agents that may live: only what was
 * settled was looked for among the processes, and facts alone prove nothing.
 */
export function withFolder(context: Context): RunName[] {
  const { layout } = context;
  const live = new Set(withReader(context, (registry) => registry.list()).map(({ agent }) => agent.id));
  return foldersIn(layout.root)
    .filter(isTaskId)
    .flatMap((task) =>
      foldersIn(layout.task(task).runs)
        .filter(isAgentId)
        .filter((agent) => !live.has(agent))
        .flatMap((agent) => numbersIn(foldersIn(layout.agent(task, agent).runs)).map((run) => ({ task, agent, run }))),
    );
}

/** Takes runs from the list until it is empty or the time is up. One that cannot be sealed now stays as it is, which is whole. */
export async function sealSome(context: Context, runs: RunName[], ms: number = SEAL_MS): Promise<void> {
  const deadline = performance.now() + ms;
  for (let one = runs.pop(); one !== undefined; one = performance.now() < deadline ? runs.pop() : undefined) {
    const facts = readFacts(context.layout.run(one.task, one.agent, one.run));
    if (!isSealable(facts) || facts.cleanup === undefined) continue;
    try {
      await cleanUp(context, one, facts, { seal: true, waitMs: LOCK_MS });
    } catch (error) {
      if (toMidwatchError(error).code === "INTERNAL") throw error;
    }
  }
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  } catch (error) {
    throwIfExhausted(error);
    return [];
  }
}
