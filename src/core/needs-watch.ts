/** Which runs somebody has to watch beside their keepers: for what only a reader of their logs can see, and for their turn. Pure. */
import type { IntentFact, TaskFact } from "./intent.ts";

/** `waits`: it is queued, and nobody has started it yet. */
export function needsWatch(
  { limits }: Pick<IntentFact, "limits">,
  task: Pick<TaskFact, "on_verdict"> | undefined,
  waits: boolean,
): boolean {
  return waits || limits.tokens > 0 || limits.cost_usd > 0 || task?.on_verdict !== undefined;
}
