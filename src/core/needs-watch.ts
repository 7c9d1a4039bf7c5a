/** Which runs somebody has to watch beside their keepers: for what only a reader of their logs can see, and for their turn. Pure. */
import type { AgentId } from "./ids.ts";
import type { IntentFact, TaskFact } from "./intent.ts";

/** `by` is null when nobody does; `agent` is the companion's. */
export interface Watcher {
  by: "up" | "companion" | null;
  agent: AgentId | null;
  pid: number | null;
}

/** `waits`: it is queued, and nobody has started it yet. `counts`: there is a budget, which counts what it spends. */
export function needsWatch(
  { limits, driver }: Pick<IntentFact, "limits" | "driver">,
  task: Pick<TaskFact, "on_verdict"> | undefined,
  waits: boolean,
  counts: () => boolean,
): boolean {
  const own = waits || limits.tokens > 0 || limits.cost_usd > 0 || task?.on_verdict !== undefined;
  // A plain command spends nothing that anybody could read.
  return own || (driver !== "command" && counts());
}
