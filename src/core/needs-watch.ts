/** Which runs somebody has to watch beside their keepers: for what only a reader of their logs can see, and for their turn. Pure. */
import type { AgentId } from "./ids.ts";
import type { IntentFact, LimitName, TaskFact } from "./intent.ts";

/** limit.json: written when a run has passed its limit of tokens or cost, before anything is done about it. */
export interface LimitFact {
  v: 1;
  limit: LimitName;
  reason: string;
  at: string;
  /** The limit, and what was known to be spent when it was passed: tokens or US dollars. These are missing before 0.2. */
  value?: number;
  spent?: number;
  /** What followed; missing: interrupt. */
  action?: "stop" | "interrupt" | "notify";
}

/** A limit that a run has passed. */
export interface PassedLimit {
  limit: LimitName;
  /** In tokens, US dollars, bytes or ms; null when it is not known. */
  value: number | null;
  /** When it was passed, as far as that was seen. */
  at: string | null;
  /** Tokens or US dollars: at the end all that was spent, before that what was known when it was passed. Null for other limits. */
  spent: number | null;
  /** What was spent above the limit. */
  overshoot: number | null;
}

/** `by` is null when nobody does; `agent` is the companion's. */
export interface Watcher {
  by: "up" | "companion" | null;
  agent: AgentId | null;
  pid: number | null;
}

/** `waits`: it is queued, and nobody has started it yet. `counts`: there is a budget, which counts what it spends. */
export function needsWatch(
  { limits, driver, journal }: Pick<IntentFact, "limits" | "driver" | "journal">,
  task: Pick<TaskFact, "on_verdict"> | undefined,
  waits: boolean,
  counts: () => boolean,
): boolean {
  const own = waits || limits.tokens > 0 || limits.cost_usd > 0 || task?.on_verdict !== undefined;
  // A plain command says and spends nothing that anybody could read.
  return own || (driver !== "command" && (journal === "turns" || counts()));
}
