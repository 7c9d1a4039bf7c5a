/**
 * Counters in what a call answers: "epoch 12/60", "51 jobs left". An agent that polls gets the same shape each time, and a counter that
 * keeps going one way is progress. Times, durations, process ids and hashes always change and say nothing, so they are left
 * out; a number that goes up and down is noise and is left out from then on.
 */
import { bounded } from "./shape.ts";

/** A bar or a last line: what moves stands near the end. */
const MOST_NUMBERS = 16;
const MOST_CALLS = 64;

const UNIT = "(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)";
const ALWAYS_CHANGES: readonly RegExp[] = [
  /\/(?:tmp|var\/folders)\/[\w./-]+/g,
  /0x[0-9a-f]+|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,}\b|\b\d{9,}\b/gi,
  // Dates, times of day, places in files, versions and addresses.
  /\d{4}-\d\d-\d\d|\d+(?::\d+)+(?:\.\d+)?|\w:\d+|\d+(?:\.\d+){2,}/g,
  new RegExp(`\\b\\d+(?:\\.\\d+)?\\s*${UNIT}\\b`, "gi"),
  /\b(?:p?pid|process|thread|port|fd|line|seed|id|session|uptime|elapsed|took|time|duration|eta|age|latency|real|user|sys|load|cpu|rss|mem(?:ory)?)\b[^\d\n]{0,12}\d+(?:\.\d+)?/gi,
];

/** A text without what always changes: two that are the same then say the same, numbers and all. */
export function steady(text: string): string {
  return ALWAYS_CHANGES.reduce((left, pattern) => left.replaceAll(pattern, " "), bounded(text)).trim();
}

function countersIn(text: string): number[] {
  const plain = steady(text);
  return [...plain.matchAll(/\d+(?:\.\d+)?/g)].slice(-MOST_NUMBERS).map(([number]) => Number(number));
}

interface Seen {
  numbers: number[];
  /** Which way each has gone: 1, -1, 0 for neither yet, null for both. */
  ways: (number | null)[];
}

export class Counters {
  readonly #seen = new Map<number, Seen>();

  /** Whether a counter has gone on since `call` was last answered with this shape. */
  moved(call: number, text: string): boolean {
    const numbers = countersIn(text);
    const before = this.#seen.get(call);
    const seen: Seen =
      before?.numbers.length === numbers.length ? before : { numbers, ways: numbers.map((): number | null => 0) };
    let moved = false;
    for (const [at, number] of numbers.entries()) {
      const way = Math.sign(number - (seen.numbers[at] as number));
      const known = seen.ways[at];
      if (way === 0 || known === null) continue;
      seen.ways[at] = known === 0 || known === way ? way : null;
      moved ||= seen.ways[at] !== null;
    }
    this.#keep(call, { numbers, ways: seen.ways });
    return moved;
  }

  #keep(call: number, seen: Seen): void {
    this.#seen.delete(call);
    this.#seen.set(call, seen);
    if (this.#seen.size <= MOST_CALLS) return;
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined) this.#seen.delete(oldest);
  }
}
