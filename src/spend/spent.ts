/**
 * What a run has cost by now. What its CLI says is taken as it is; for what it used since, the price of each model is worked out and
 * marked as an estimate.
 */
import type { SpentPart } from "../core/types.ts";
import type { StreamResult } from "../drivers/driver.ts";
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

/** `asked` is the model that it was asked to use, for CLIs that do not tell. */
export function spent(
  { cost_usd, uncosted, tokens, model }: Pick<StreamResult, "cost_usd" | "uncosted" | "tokens" | "model">,
  asked: string | null,
  prices: Prices,
): RunSpent {
  const since = uncosted.map((one): SpentPart => {
    const of = one.model ?? model ?? asked;
    return { model: of, tokens: one.tokens, usd: prices.of(of, one.tokens, one.prompt), estimated: true };
  });
  const before = since.reduce((left, one) => subtractTokens(left, one.tokens), tokens ?? NO_TOKENS);
  const told = cost_usd === null ? [] : [{ model: model ?? asked, tokens: before, usd: cost_usd, estimated: false }];
  const parts = [...told, ...since.filter((part) => sizeOf(part.tokens) > 0)];
  return { ...sumOf(parts), parts };
}

/** Of a run that has ended. */
export function sumOf(parts: readonly SpentPart[]): Omit<RunSpent, "parts"> {
  const least = parts.reduce((sum, { usd }) => sum + (usd ?? 0), 0);
  const known = parts.length > 0 && parts.every(({ usd }) => usd !== null);
  return { usd: known ? least : null, estimated: parts.some(({ estimated }) => estimated), least };
}
