/**
 * Runs that wait for room. Such a run has everything but its keeper: an intent with `queued` and no claim. Whoever looks (the
 * loop, any `wait`) gives the oldest its turn; the registry counts, the keeper's claim decides.
 */

import { toMidwatchError } from "../core/errors.ts";
import type { IntentFact } from "../core/intent.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { knownTask } from "../facts/locate.ts";
import type { Observed } from "../facts/observe.ts";
import { LAUNCH_MS } from "../facts/state.ts";
import { type Context, catchUp, withWriter } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { compose } from "./compose.ts";
import { giveUp, startRun, writeInput } from "./launch.ts";

/** Starts as many as there is room for; returns how many. */
export async function startWaiting(context: Context, observed: readonly Observed[]): Promise<number> {
  const waiting = observed
    .filter(({ facts, row }) => row.phase === "intended" && facts.intent?.queued && !facts.stop)
    .sort((a, b) => (a.row.created_at < b.row.created_at ? -1 : 1));
  let started = 0;
  for (const { facts, agent, run } of waiting) {
    const turn = (): boolean =>
      withWriter(context, (registry) => registry.takeTurn(agent, run, context.config.max_running, LAUNCH_MS));
    if (!turn()) break;
    await startOne(context, facts.intent as IntentFact);
    started++;
  }
  return started;
}

/** With the environment of whoever starts it: the one that asked is gone. */
async function startOne(context: Context, asked: IntentFact): Promise<void> {
  const { layout } = context;
  try {
    const driver = await findDriver(context, asked.driver);
    const composed = compose(context, driver, asked, knownTask(context, asked.task));
    writeInput(context, composed);
    const { intent } = layout.run(asked.task, asked.agent, asked.run);
    replaceInside(layout.root, intent, `${JSON.stringify(composed.intent)}\n`);
    await startRun(context, { ...composed, prepare: () => undefined });
  } catch (error) {
    // It can never start so: said once, and the next one has its turn.
    giveUp(context, asked, toMidwatchError(error).message);
    catchUp(context, () => undefined);
  }
}
