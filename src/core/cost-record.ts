/** What was spent, as `cost --json` and the page tell it. */
import type { Tokens } from "./types.ts";

export type CostBy = "task" | "model" | "agent" | "project" | "day";

export interface CostRecord {
  /** Of the task, model, agent, project or day; `second opinion` for what the watch asked; `all` for the sum. */
  of: string;
  /** Runs that used anything. */
  runs: number;
  tokens: Tokens;
  /** As far as it is known; null when nothing of it is. */
  cost_usd: number | null;
  /** The part of it that was worked out from prices. */
  estimated_usd: number;
  /** Runs with tokens whose cost nobody knows. */
  unpriced: number;
  prices_as_of: string;
}

/** What was spent from one time to another, by one task, model, agent or project. */
export interface CostBucket {
  since: string;
  until: string;
  of: string;
  tokens: Tokens;
  /** Less than nothing where the exact figure at a run's end was lower than what was estimated before. */
  cost_usd: number;
  estimated_usd: number;
  /** Tokens whose price nobody knows. */
  unpriced_tokens: number;
}
