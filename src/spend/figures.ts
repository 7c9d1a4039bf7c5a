/** What was used and what it cost, as the ledger counts it: whole numbers, so that sums are exact. */
import type { SpentPart, Tokens } from "../core/types.ts";
import { sizeOf } from "../drivers/stream.ts";

export interface Spent {
  usd: number;
  /** The part of it that was worked out from prices. */
  estimated_usd: number;
  tokens: Tokens;
  /** That used anything. */
  runs: number;
  /** Runs that used tokens whose price nobody knows. */
  unpriced: number;
}

export const FIGURES = ["input", "output", "cache_read", "cache_write", "micros", "estimated", "unpriced"] as const;

/** One row of `totals` or `points`. */
export type Figures = Record<(typeof FIGURES)[number], number>;

export const NOTHING: Figures = {
  input: 0,
  output: 0,
  cache_read: 0,
  cache_write: 0,
  micros: 0,
  estimated: 0,
  unpriced: 0,
};

const MILLION = 1_000_000;

export function toMicros(usd: number): number {
  return Math.round(usd * MILLION);
}

export function toUsd(micros: number): number {
  return micros / MILLION;
}

/** By model; parts of one model are added up before they are rounded. */
export function figuresOf(parts: readonly SpentPart[]): Map<string, Figures> {
  const sums = new Map<string, Figures>();
  for (const { model, tokens, usd, estimated } of parts) {
    const name = model === null ? "unknown" : modelName(model);
    const sum = sums.get(name) ?? { ...NOTHING };
    sums.set(name, sum);
    for (const kind of ["input", "output", "cache_read", "cache_write"] as const) sum[kind] += tokens[kind];
    sum.micros += (usd ?? 0) * MILLION;
    if (estimated) sum.estimated += (usd ?? 0) * MILLION;
    if (usd === null) sum.unpriced += sizeOf(tokens);
  }
  for (const sum of sums.values()) {
    sum.micros = Math.round(sum.micros);
    sum.estimated = Math.round(sum.estimated);
  }
  return sums;
}

/** A name may have a provider before it and a date behind it: all of them are one model. */
export function modelName(model: string): string {
  return model
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/(?:-(?:20)?\d{6,8}|-20\d\d-\d\d-\d\d|-latest|\[1m\])+$/, "");
}

export function minus(a: Figures, b: Figures): Figures {
  return Object.fromEntries(FIGURES.map((kind) => [kind, a[kind] - b[kind]])) as Figures;
}

export function isNothing(figures: Figures): boolean {
  return FIGURES.every((kind) => figures[kind] === 0);
}
