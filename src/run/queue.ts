/**
 * Runs that wait for room, or for a budget. Such a run has everything but its keeper: an intent with `queued` and no claim. Whoever looks (the
 * loop, any `wait`) gives the oldest its turn; the registry counts, the keeper's claim decides.
 */

import { heldBy } from "../budget/budget-plan.ts";
import { budgetStates, spenderFor } from "../budget/budgets.ts";
import { toMidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { readText } from "../disk/replace.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { knownTask } from "../facts/locate.ts";
import type { Observed } from "../facts/observe.ts";
import { LAUNCH_MS } from "../facts/state.ts";
import { placeId } from "../journal/event.ts";
import { forgetLater, isRecorded, recordLater } from "../trust/later.ts";
import { audit } from "../workspace/audit.ts";
import { companionOf } from "../workspace/companion.ts";
import { type Context, catchUp, withWriter } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { compose } from "./compose.ts";
import { giveUp, startRun, writeInput } from "./launch.ts";

/** Starts as many as there is room for; returns how many. */
export async function startWaiting(context: Context, observed: readonly Observed[]): Promise<number> {
  const waiting = observed
    .filter(({ facts, row }) => row.phase === "intended" && facts.intent?.queued && !facts.stop)
    .sort((a, b) => (a.row.created_at < b.row.created_at ? -1 : 1));
  if (waiting.length === 0) return 0;
  const isHeld = heldBacks(context, waiting);
  const besides = companionOf(context)?.agent;
  let started = 0;
  for (const { facts, agent, run } of waiting) {
    const intent = facts.intent as IntentFact;
    const most = Math.min(context.config.max_running, intent.max_running ?? Number.POSITIVE_INFINITY);
    const turn = (): boolean =>
      withWriter(context, (registry) => registry.takeTurn(agent, run, most, LAUNCH_MS, besides));
    if (!isAsked(context, intent) || isHeld(agent)) continue;
    if (!turn()) break;
    await startOne(context, intent);
    started++;
  }
  return started;
}

/** One look at the budgets for all of them. What a run counts to its intent says, as it was recorded when it was queued. */
function heldBacks(context: Context, waiting: readonly Observed[]): (agent: AgentId) => boolean {
  const spenders = waiting.map(({ agent, run, facts }) => spenderFor(context, agent, run, facts.intent?.labels));
  const states = budgetStates(context, spenders);
  const held = new Set(spenders.filter((one) => heldBy(states, one) !== undefined).map(({ agent }) => agent));
  return (agent) => held.has(agent);
}

/** What this process has told already; others tell it under the same id, so that readers show it once. */
const told = new Set<string>();

/** An intent lies in the project, where others can write: only what whoever queued it recorded is started. Told once. */
function isAsked(context: Context, { task, agent, run }: IntentFact): boolean {
  const text = readText(context.layout.run(task, agent, run).intent) ?? "";
  if (isRecorded(context.trust.state, text)) return true;
  const key = `${context.layout.root} ${agent}.${run}`;
  if (told.has(key)) return false;
  told.add(key);
  const content = `${agent} is queued, but nobody here asked for it so: it is not started. Look at it: midwatch show ${agent}; drop it: midwatch stop ${agent}`;
  audit(context, [{ type: "error", id: placeId("queued", `${agent}.${run}`), content, task, agent, data: { run } }]);
  return false;
}

/** With the environment of whoever starts it: the one that asked is gone. */
async function startOne(context: Context, asked: IntentFact): Promise<void> {
  const { layout } = context;
  const { intent } = layout.run(asked.task, asked.agent, asked.run);
  const recorded = [readText(intent) ?? ""];
  try {
    const driver = await findDriver(context, asked.driver);
    const composed = await compose(context, driver, asked, knownTask(context, asked.task));
    writeInput(context, composed);
    const text = `${JSON.stringify(composed.intent)}\n`;
    recorded.push(text);
    recordLater(context.trust.state, intent, text, `${asked.agent}.${asked.run} has its turn`);
    replaceInside(layout.root, intent, text);
    await startRun(context, { ...composed, prepare: () => undefined });
  } catch (error) {
    // It can never start so: said once, and the next one has its turn.
    giveUp(context, asked, toMidwatchError(error).message);
    catchUp(context, () => undefined);
  }
  for (const text of recorded) forgetLater(context.trust.state, text);
}
