/** The limit that a run has passed, and what it came to. Pure. */
import type { IntentFact, LimitName } from "../core/intent.ts";
import type { PassedLimit } from "../core/needs-watch.ts";
import type { RunResult, Tokens } from "../core/types.ts";
import type { Facts } from "./facts.ts";

/** Null for a run that passed none, as far as is known. */
export function passedLimit({ intent, exit, stop, limit: told, cleanup }: Facts): PassedLimit | null {
  const result = cleanup?.result ?? null;
  const asked = exit?.stop_requested !== false ? stop?.limit : undefined;
  const name = exit?.limit ?? asked ?? told?.limit ?? exit?.interrupted ?? ownLimit(result);
  if (name === null) return null;
  const known = told?.limit === name ? told : undefined;
  const value = known?.value ?? (intent ? limitOf(intent.limits, name) : null);
  const at = known?.at ?? stop?.requested_at ?? exit?.ended_at ?? null;
  const spent = finalOf(name, result) ?? known?.spent ?? null;
  return { limit: name, value, at, spent, overshoot: spent === null || value === null ? null : over(spent, value) };
}

/** The only one that a CLI keeps to by itself is that of cost. */
function ownLimit(result: RunResult | null): LimitName | null {
  return result?.outcome === "limit" ? "cost" : null;
}

function limitOf(limits: IntentFact["limits"], limit: LimitName): number | null {
  const values = {
    tokens: limits.tokens,
    cost: limits.cost_usd,
    wall: limits.wall_ms,
    idle: limits.idle_ms,
    output: limits.output_bytes,
    disk: 0,
    budget: 0, // It is not the run's own: limit.json says how much it is.
  };
  return values[limit] > 0 ? values[limit] : null;
}

function finalOf(limit: LimitName, result: RunResult | null): number | null {
  if (result === null) return null;
  if (limit === "tokens") return result.tokens && totalOf(result.tokens);
  if (limit !== "cost") return null;
  return result.spent === undefined || result.spent.length === 0
    ? result.cost_usd
    : result.spent.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
}

/** Without the dust of binary fractions. */
function over(spent: number, value: number): number {
  return Math.max(0, Math.round((spent - value) * 1e9) / 1e9);
}

export function totalOf({ input, output, cache_read, cache_write }: Tokens): number {
  return input + output + cache_read + cache_write;
}
