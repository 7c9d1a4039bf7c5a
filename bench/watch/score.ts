/** Precision, recall and F1 of a detector, with intervals from resampling whole tasks: runs of one task are no independent draws. */

export interface Scored {
  task: string;
  positive: boolean;
  flagged: boolean;
}

export interface Score {
  precision: number;
  recall: number;
  f1: number;
}

export function scoreOf(runs: readonly Scored[]): Score {
  let hits = 0;
  let flagged = 0;
  let positives = 0;
  for (const run of runs) {
    if (run.positive) positives++;
    if (run.flagged) flagged++;
    if (run.positive && run.flagged) hits++;
  }
  const precision = flagged === 0 ? 0 : hits / flagged;
  const recall = positives === 0 ? 0 : hits / positives;
  return { precision, recall, f1: hits === 0 ? 0 : (2 * precision * recall) / (precision + recall) };
}

/** The middle 95 % of a figure over resampled tasks. */
export function interval<T extends { task: string }>(
  runs: readonly T[],
  figure: (sample: readonly T[]) => number,
  rounds = 1000,
): [number, number] {
  const tasks = [...Map.groupBy(runs, ({ task }) => task).values()];
  const random = generator(20261115);
  const figures = Array.from({ length: rounds }, () =>
    figure(tasks.flatMap(() => tasks[Math.floor(random() * tasks.length)] ?? [])),
  ).sort((a, b) => a - b);
  return [figures[Math.floor(rounds * 0.025)] ?? 0, figures[Math.floor(rounds * 0.975)] ?? 0];
}

/** The same numbers in every run of the bench. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** The exact 95 % interval of a count of rare events. */
export function poisson(count: number): [number, number] {
  const atMost = (most: number, mean: number): number => {
    let term = Math.exp(-mean);
    let sum = 0;
    for (let n = 0; n <= most; n++) {
      sum += term;
      term *= mean / (n + 1);
    }
    return sum;
  };
  const solve = (above: (mean: number) => boolean): number => {
    let [low, high] = [0, count * 3 + 10];
    for (let round = 0; round < 60; round++) {
      const middle = (low + high) / 2;
      if (above(middle)) high = middle;
      else low = middle;
    }
    return low;
  };
  const low = count === 0 ? 0 : solve((mean) => 1 - atMost(count - 1, mean) >= 0.025);
  return [low, solve((mean) => atMost(count, mean) <= 0.025)];
}
