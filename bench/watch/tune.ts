/** Thresholds for a union of rules: the best F1 among those that flag at most a share of the healthy runs. Tries them all. */

export interface Valued {
  task: string;
  /** What is left out as a whole. */
  group: string;
  kind: "positive" | "negative" | "healthy";
  values: Readonly<Record<string, number>>;
}

export type Union = Readonly<Record<string, number>>;
export type Choices = Readonly<Record<string, readonly number[]>>;

const OFF = Infinity;
/** Families of peers' rules with the thresholds that any of them ships, and around. */
export const PEER_CHOICES: Choices = {
  consecutive: [2, 3, 4, 5, 6, OFF],
  cycle: [2, 3, 4, 5, OFF],
  mistakes: [3, 4, 5, 6, 8, OFF],
  duplicates: [4, 6, 8, 10, OFF],
};
export const STEP_CHOICES: Choices = { steps: [10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120] };
/** Ours, around the table's: only to see what tuning without a set would have chosen. */
export const OUR_CHOICES: Choices = {
  repeat: [3, 4],
  cycle: [2, 3],
  again: [3, 4, 5],
  retry: [3, 4],
  same_edit: [3, 4],
  same_answer: [5, 6, 8],
  gone: [3, 4],
  same_error: [5, 6, 8],
  no_news: [5, 6, 8],
};

export function fires(union: Union, values: Readonly<Record<string, number>>): boolean {
  return Object.entries(union).some(([rule, threshold]) => (values[rule] ?? 0) >= threshold);
}

export function tune(runs: readonly Valued[], choices: Choices, mostFalse: number): Union {
  const names = Object.keys(choices);
  const bits = (test: (run: Valued) => boolean): Int32Array => {
    const set = new Int32Array(Math.ceil(runs.length / 32));
    runs.forEach((run, at) => {
      if (test(run)) set[at >> 5] = (set[at >> 5] ?? 0) | (1 << (at & 31));
    });
    return set;
  };
  const [positive, negative, healthy] = (["positive", "negative", "healthy"] as const).map((kind) =>
    bits((run) => run.kind === kind),
  ) as [Int32Array, Int32Array, Int32Array];
  const fired = new Map(
    names.flatMap((name) =>
      (choices[name] ?? []).map((threshold) => [
        `${name} ${threshold}`,
        bits(({ values }) => (values[name] ?? 0) >= threshold),
      ]),
    ),
  );
  const allowed = mostFalse * common(healthy, healthy);
  const best: { union: Union; f1: number; false: number } = { union: {}, f1: -1, false: 0 };
  const search = (at: number, flagged: Int32Array, union: Union): void => {
    const wrong = common(flagged, healthy);
    if (wrong > allowed) return;
    const name = names[at];
    if (name === undefined) {
      const hits = common(flagged, positive);
      const f1 = (2 * hits) / (hits + common(flagged, negative) + common(positive, positive));
      if (f1 > best.f1 || (f1 === best.f1 && wrong < best.false)) Object.assign(best, { union, f1, false: wrong });
      return;
    }
    for (const threshold of choices[name] ?? []) {
      const more = fired.get(`${name} ${threshold}`) ?? flagged;
      search(
        at + 1,
        flagged.map((word, index) => word | (more[index] ?? 0)),
        { ...union, [name]: threshold },
      );
    }
  };
  search(0, new Int32Array(positive.length), {});
  return best.union;
}

function common(a: Int32Array, b: Int32Array): number {
  let count = 0;
  for (let at = 0; at < a.length; at++) {
    let word = (a[at] ?? 0) & (b[at] ?? 0);
    for (; word !== 0; word &= word - 1) count++;
  }
  return count;
}
