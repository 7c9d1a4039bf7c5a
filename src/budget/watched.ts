/** Which runs somebody has to watch, and what their keepers are told so that there is somebody. */

import { MidwatchError } from "../core/errors.ts";
import type { IntentFact, TaskFact } from "../core/intent.ts";
import { needsWatch } from "../core/needs-watch.ts";
import type { Order } from "../process/keeper.ts";
import { companionLocks } from "../trust/companion-record.ts";
import { starterWords } from "../workspace/companion.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { budgetsInForce } from "./budgets.ts";

/** Whether somebody has to watch this run; `waits`: it is queued, and nobody has started it yet. */
export function isToBeWatched(context: Context, intent: IntentFact, waits: boolean): boolean {
  const task = withReader(context, (registry) => registry.task(intent.task))?.data as TaskFact | undefined;
  return needsWatch(intent, task, waits, () => hasBudget(context));
}

/** What cannot be read is not no budget: whoever watches tells of it. */
function hasBudget(context: Context): boolean {
  try {
    return budgetsInForce(context).length > 0;
  } catch (error) {
    if (error instanceof MidwatchError) return true;
    throw error;
  }
}

/** What the keeper of a run is told so that the companion comes back however it ended: where it looks, and what it starts. */
export function watchOrders(context: Context, intent: IntentFact): Order[] {
  const words = starterWords(context);
  if (words === undefined) return [];
  const { watch, starting } = companionLocks(context.trust.state, context.layout.root);
  const { reported } = context.layout.run(intent.task, intent.agent, intent.run);
  const always = isToBeWatched(context, intent, false);
  return [
    ...(always ? [] : [["watch_when", reported] as const]),
    ["watch_lock", watch],
    ["watch_lock", starting],
    ...words.map((word) => ["watch_arg", word] as const),
  ];
}
