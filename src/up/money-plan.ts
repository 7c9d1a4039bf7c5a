/** What follows from what a run has spent by now. Pure: limits, figures and clocks in; what is passed and what is done out. */
import type { IntentFact } from "../core/intent.ts";
import type { LimitFact } from "../core/needs-watch.ts";
import type { Tokens } from "../core/types.ts";
import { totalOf } from "../facts/passed-limit.ts";

/** What a run has used by now. */
export interface Spending {
  tokens: Tokens | null;
  /** In US dollars, at the least. */
  usd: number;
  /** A part of that was worked out from prices. */
  estimated: boolean;
}

export type Passed = Required<Pick<LimitFact, "limit" | "reason" | "value" | "spent">>;

/** What was done about it so far. */
export interface Done {
  /** That it was passed was told. */
  told: boolean;
  /** By our clock; one that somebody before us has interrupted gets its grace anew. */
  interruptedMs?: number | undefined;
}

export type Deed = "stop" | "interrupt" | "tell";

export function hasMoneyLimit({ limits }: Pick<IntentFact, "limits">): boolean {
  return limits.tokens > 0 || limits.cost_usd > 0;
}

export function passedBy(limits: IntentFact["limits"], { tokens, usd, estimated }: Spending): Passed | undefined {
  const count = tokens === null ? 0 : totalOf(tokens);
  if (limits.tokens > 0 && count > limits.tokens) {
    const reason = `${count} tokens, at most ${limits.tokens}`;
    return { limit: "tokens", value: limits.tokens, spent: count, reason };
  }
  if (limits.cost_usd > 0 && usd > limits.cost_usd) {
    const reason = `${estimated ? "~" : ""}${usd.toFixed(2)} USD, at most ${limits.cost_usd}`;
    return { limit: "cost", value: limits.cost_usd, spent: usd, reason };
  }
  return undefined;
}

/** Of a run that has passed a limit. One that goes on after it was interrupted is stopped when its grace is over. */
export function nextDeed(
  { limit_policy, grace_ms }: Pick<IntentFact, "limit_policy" | "grace_ms">,
  { told, interruptedMs }: Done,
  nowMs: number,
): Deed | undefined {
  if (limit_policy === "stop") return "stop";
  if (limit_policy === "notify") return told ? undefined : "tell";
  if (interruptedMs === undefined) return "interrupt";
  return nowMs - interruptedMs > grace_ms ? "stop" : undefined;
}
