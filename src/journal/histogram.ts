/** How often something took how long, in the buckets of Prometheus. */
const BOUNDS: readonly number[] = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

export class Histogram {
  readonly #counts: number[] = BOUNDS.map(() => 0);
  #sum = 0;
  #count = 0;

  add(seconds: number): void {
    for (let i = BOUNDS.length - 1; i >= 0 && seconds <= (BOUNDS[i] as number); i--)
      this.#counts[i] = (this.#counts[i] as number) + 1;
    this.#sum += seconds;
    this.#count++;
  }

  /** Lines of the text format; `labels` is empty or like `door="http"`. */
  lines(name: string, labels = ""): string[] {
    const first = labels === "" ? "" : `${labels},`;
    const all = labels === "" ? "" : `{${labels}}`;
    return [
      ...BOUNDS.map((bound, i) => `${name}_bucket{${first}le="${bound}"} ${this.#counts[i]}`),
      `${name}_bucket{${first}le="+Inf"} ${this.#count}`,
      `${name}_sum${all} ${this.#sum}`,
      `${name}_count${all} ${this.#count}`,
    ];
  }
}
