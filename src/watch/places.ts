/** The bytes of lines that reasons name: found once, and remembered while they are named again. */

import type { LineRange } from "../judge/steps.ts";
import type { Log } from "../log/log.ts";
import type { ByteRange } from "./summary.ts";

const KEPT = 16;

export class Places {
  readonly #known = new Map<string, ByteRange>();

  /** Finds places before `end`. The log is opened when a place is not known yet. */
  finder(open: () => Log | undefined, end: number): (place: LineRange) => ByteRange {
    let log: Log | undefined;
    return (place) => {
      const key = `${place.from}-${place.to}`;
      const known = this.#known.get(key);
      if (known !== undefined) return known;
      log ??= open();
      const found = {
        start: log?.atLine(Math.max(0, place.from - 1), end).offset ?? 0,
        end: log?.atLine(place.to, end).offset ?? 0,
      };
      if (this.#known.size >= KEPT) this.#known.clear();
      this.#known.set(key, found);
      return found;
    };
  }
}
