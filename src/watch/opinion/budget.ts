/**
 * Tokens of one agent in any hour. They are reserved before a call, as many as it could cost at the worst, and settled by what it did
 * cost. Of a call whose end nobody saw the reservation stays: it may have been paid for.
 */
export interface Spent {
  /** Of the reservation. */
  id: string;
  atMs: number;
  tokens: number;
}

const HOUR_MS = 3_600_000;

/** What counts now. A time in the future is from before the clock was set back: it counts from now on, never for longer. */
function spentLately(spent: readonly Spent[], nowMs: number): Spent[] {
  return spent
    .map((one) => (one.atMs > nowMs ? { ...one, atMs: nowMs } : one))
    .filter(({ atMs }) => nowMs - atMs < HOUR_MS);
}

/** Tokens that are left of `most`. */
export function tokensLeft(spent: readonly Spent[], most: number, nowMs: number): number {
  return most - spentLately(spent, nowMs).reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Null when it would pass the limit. */
export function reserve(spent: readonly Spent[], wanted: Spent, most: number): Spent[] | null {
  if (tokensLeft(spent, most, wanted.atMs) < wanted.tokens) return null;
  return [...spentLately(spent, wanted.atMs), wanted];
}

/** `tokens` is null when nobody knows what the call cost. */
export function settle(spent: readonly Spent[], id: string, tokens: number | null): Spent[] {
  return tokens === null ? [...spent] : spent.map((one) => (one.id === id ? { ...one, tokens } : one));
}
