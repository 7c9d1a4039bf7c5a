/** Numbers from repeated rounds. */

export function best(values: readonly number[]): number {
  return Math.min(...values);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Nearest rank, except that the middle of an even count is the mean of the two. */
export function quantile(values: readonly number[], part: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return part === 0.5 ? (low + high) / 2 : high;
}

/** Three significant digits, without an exponent. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "?";
  if (value === 0) return "0";
  const places = Math.max(0, Math.min(3, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

export const ms = (value: number): string => `${digits(value)} ms`;
export const times = (value: number): string => `${value.toFixed(2)} x`;

/** "best 12 ms, median 13 ms" */
export function both(values: readonly number[], unit: string): string {
  return `best ${digits(best(values))}${unit}, median ${digits(median(values))}${unit}`;
}

/**
 * Runs every variant once a round, A B C A B C, each round beginning with another one, so that a slow minute of the
 * machine is shared by all and nobody is always first.
 */
export async function interleave<K extends string>(
  variants: Readonly<Record<K, (round: number) => Promise<void>>>,
  rounds: number,
): Promise<void> {
  const names = Object.keys(variants) as K[];
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) await variants[names[(i + round) % names.length] as K](round);
  }
}
