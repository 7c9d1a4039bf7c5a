/**
 * Tokens and money. What a CLI says of its cost is taken as it is; where it says nothing, the cost is worked out from the tokens and
 * prices.json and marked as an estimate. A model that is not in the list has tokens and no cost: a guess would be added up as money.
 */
import type { Tokens } from "../core/types.ts";
import type { StreamResult } from "../drivers/driver.ts";
import prices from "./prices.json" with { type: "json" };

const PRICES_AS_OF: string = prices.as_of;

const PRICES: Readonly<Record<string, Tokens & { source: string }>> = prices.models;
const MILLION = 1_000_000;

/** What the tokens cost by the list, in US dollars; null when that is not known. */
export function priceOf(model: string | null, tokens: Tokens | null): number | null {
  const price = model === null ? undefined : listed(model);
  if (price === undefined || tokens === null) return null;
  const kinds = ["input", "output", "cache_read", "cache_write"] as const;
  return kinds.reduce((sum, kind) => sum + (tokens[kind] * price[kind]) / MILLION, 0);
}

/**
 * What a run has cost by now: what its CLI told, and by the list what it used since. Null when of some of it no price is known. `asked`
 * is the model that it was asked to use, for CLIs that do not tell.
 */
export function spent(
  { cost_usd, uncosted }: Pick<StreamResult, "cost_usd" | "uncosted">,
  asked: string | null,
): {
  usd: number | null;
  /** A part of it was worked out from prices. */
  estimated: boolean;
  /** What is known of it, at the least. */
  least: number;
} {
  const parts = uncosted.map(({ model, tokens }) => priceOf(model ?? asked, tokens));
  const least = parts.reduce<number>((sum, part) => sum + (part ?? 0), cost_usd ?? 0);
  const known = parts.every((part) => part !== null) && (parts.length > 0 || cost_usd !== null);
  return { usd: known ? least : null, estimated: parts.length > 0, least };
}

/** A name may have a provider before it and a date behind it; another model of the family (`-mini`) has its own price. */
function listed(model: string): Tokens | undefined {
  const name = model.toLowerCase().replace(/^.*\//, "");
  return PRICES[name] ?? PRICES[name.replace(/(?:-(?:20)?\d{6,8}|-20\d\d-\d\d-\d\d|-latest|\[1m\])+$/, "")];
}

export interface Used {
  task: string;
  agent: string;
  model: string | null;
  tokens: Tokens | null;
  cost_usd: number | null;
}

export type CostBy = "task" | "model" | "agent";

export interface CostRecord {
  /** Of the task, model or agent; `second opinion` for what the watch asked; `all` for the sum. */
  of: string;
  runs: number;
  tokens: Tokens;
  cost_usd: number;
  /** The part of it that was worked out from prices. */
  estimated_usd: number;
  /** Runs with tokens whose cost nobody knows. */
  unpriced: number;
  prices_as_of: string;
}

/** The dearest first, then what the watch itself used (it is no run), and the sum as the last. */
export function costBy(
  runs: readonly Used[],
  by: CostBy,
  opinions: readonly Pick<Used, "model" | "tokens">[] = [],
): CostRecord[] {
  const groups = new Map<string, CostRecord>();
  const all = empty("all");
  const watch = empty("second opinion");
  for (const used of runs) {
    const of = used[by] ?? "unknown";
    const group = groups.get(of) ?? empty(of);
    groups.set(of, group);
    for (const one of [group, all]) add(one, used, 1);
  }
  for (const used of opinions) for (const one of [watch, all]) add(one, { ...used, cost_usd: null }, 0);
  const size = ({ tokens }: CostRecord): number => tokens.input + tokens.output;
  const dearest = [...groups.values()].sort((a, b) => b.cost_usd - a.cost_usd || size(b) - size(a));
  return [...dearest, ...(opinions.length > 0 ? [watch] : []), all];
}

function empty(of: string): CostRecord {
  const tokens = { input: 0, output: 0, cache_read: 0, cache_write: 0 };
  return { of, runs: 0, tokens, cost_usd: 0, estimated_usd: 0, unpriced: 0, prices_as_of: PRICES_AS_OF };
}

function add(record: CostRecord, used: Pick<Used, "model" | "tokens" | "cost_usd">, runs: number): void {
  const { model, tokens, cost_usd } = used;
  record.runs += runs;
  if (tokens !== null) for (const kind of Object.keys(tokens) as (keyof Tokens)[]) record.tokens[kind] += tokens[kind];
  const estimate = cost_usd === null ? priceOf(model, tokens) : null;
  record.cost_usd += cost_usd ?? estimate ?? 0;
  record.estimated_usd += estimate ?? 0;
  if (cost_usd === null && estimate === null && tokens !== null) record.unpriced++;
}
