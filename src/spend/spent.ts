/**
 * What a run has cost by now. What its CLI says is taken as it is; for what it used since, the price of each model is worked out and
 * marked as an estimate.
 */
import type { SpentPart } from "../core/types.ts";
import type { ModelCost, StreamResult } from "../drivers/driver.ts";
import { NO_TOKENS, sizeOf, subtractTokens } from "../drivers/stream.ts";
import type { Prices } from "./prices.ts";

export interface RunSpent {
  /** Null when of some of it no price is known. */
  usd: number | null;
  /** A part of it was worked out from prices. */
  estimated: boolean;
  /** What is known of it, at the least. */
  least: number;
  /** By model. */
  parts: SpentPart[];
}

type Used = Pick<StreamResult, "cost_usd" | "costed" | "uncosted" | "tokens" | "model">;

/** `asked` is the model that it was asked to use, for CLIs that do not tell. */
export function spent(
  { cost_usd, costed, uncosted, tokens, model }: Used,
  asked: string | null,
  prices: Prices,
): RunSpent {
  const since = uncosted.map((one): SpentPart => {
    const of = one.model ?? model ?? asked;
    return { model: of, tokens: one.tokens, usd: prices.of(of, one.tokens, one.prompt), estimated: true };
  });
  const before = since.reduce((left, one) => subtractTokens(left, one.tokens), tokens ?? NO_TOKENS);
  const told = cost_usd === null ? [] : toldParts({ model: model ?? asked, tokens: before, cost_usd }, costed);
  const parts = [...told, ...since.filter((part) => sizeOf(part.tokens) > 0)];
  const unknown = parts.filter(({ usd }) => usd === null);
  const least = unknown.reduce((sum, one) => sum + prices.least(one.model, one.tokens), knownOf(parts));
  return { ...sumOf(parts), least, parts };
}

/** The whole is what the CLI told; its parts count when they add up to it. */
function toldParts(
  all: Omit<ModelCost, "model"> & { model: string | null },
  costed: readonly ModelCost[],
): SpentPart[] {
  const sums = costed.reduce((sum, one) => sum + one.cost_usd, 0);
  const tokens = costed.reduce((sum, one) => sum + sizeOf(one.tokens), 0);
  const whole = costed.length > 0 && Math.abs(sums - all.cost_usd) < 1e-6 && tokens === sizeOf(all.tokens);
  return (whole ? costed : [all]).map(({ model, tokens: used, cost_usd: usd }) => ({
    model,
    tokens: used,
    usd,
    estimated: false,
  }));
}

/** Of a run that has ended. */
export function sumOf(parts: readonly SpentPart[]): Pick<RunSpent, "usd" | "estimated"> {
  const known = parts.length > 0 && parts.every(({ usd }) => usd !== null);
  return { usd: known ? knownOf(parts) : null, estimated: parts.some(({ estimated }) => estimated) };
}

function knownOf(parts: readonly SpentPart[]): number {
  return parts.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
}
