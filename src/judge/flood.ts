/** How many lines a second an agent prints, told once for each second or more of its own time. */
import type { Measure } from "./stuck.ts";

const WINDOW_MS = 1000;

export class Flood {
  /** The window's first moment and the last one met, by the clock of the log. */
  #sinceMs = 0;
  #untilMs = 0;
  #from = 0;
  #lines = 0;

  /** The rate of the window that this line is behind of. Lines that are not dated yet count with the next that is: the index dates many at once. */
  add(atMs: number | null, seq: number): Measure | null {
    const told = atMs === null || atMs === this.#untilMs ? null : this.#moveTo(atMs, seq);
    this.#lines++;
    return told;
  }

  #moveTo(atMs: number, seq: number): Measure | null {
    const elapsed = this.#untilMs - this.#sinceMs;
    const unknown = this.#sinceMs === 0 || atMs < this.#sinceMs;
    const closes = !unknown && elapsed >= WINDOW_MS;
    const value = Math.round((this.#lines * 1000) / elapsed);
    const place = { from: this.#from, to: seq - 1 };
    if (unknown) this.#sinceMs = atMs;
    else if (closes) this.#sinceMs = this.#untilMs;
    this.#untilMs = atMs;
    if (!unknown && !closes) return null;
    this.#from = seq;
    this.#lines = 0;
    return closes ? { rule: "flood", value, seq: place, quote: `${value} lines a second` } : null;
  }
}
