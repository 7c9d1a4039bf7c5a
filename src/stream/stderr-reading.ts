/** What a CLI tells on its stderr alone, such as retries that its stream leaves out. Bounded: of much that is new only the end is read. */

import { statSync } from "node:fs";
import type { Driver, TroubleActivity } from "../drivers/index.ts";
import { logPath } from "../facts/log-path.ts";
import type { Observed } from "../facts/observe.ts";
import { Log } from "../log/log.ts";
import type { Context } from "../workspace/context.ts";

const MOST_BYTES = 64 << 10;

export class StderrReading {
  #offset = 0;

  /** The troubles since the last look. None while stdout is the newer of the two: then the CLI has got over them. */
  read({ layout }: Context, { task, agent, run, row }: Observed, driver: Driver): TroubleActivity[] {
    if (driver.stderr === undefined || row.phase !== "running") return [];
    const path = logPath(layout, { task, agent, run, newest: true, stderr: true }).log;
    const file = statSync(path, { throwIfNoEntry: false });
    if (file === undefined || file.size <= this.#offset) return [];
    const text = this.#readOn(path, file.size);
    const stdout = statSync(row.log, { throwIfNoEntry: false });
    return (stdout?.mtimeMs ?? 0) > file.mtimeMs ? [] : driver.stderr(text, file.mtimeMs);
  }

  /** Whole lines only: the rest of the last one is still to come. */
  #readOn(path: string, size: number): string {
    const from = Math.max(this.#offset, size - MOST_BYTES);
    const log = Log.open(path, undefined, { type: "stderr", json: false });
    if (log === undefined) return "";
    try {
      const bytes = Buffer.alloc(size - from);
      const whole = bytes.subarray(0, log.source.read(bytes, from));
      const end = whole.lastIndexOf("\n") + 1;
      // A line longer than all that is read at once is passed over.
      this.#offset = from + (end === 0 && whole.length === MOST_BYTES ? whole.length : end);
      return whole.toString("utf8", 0, end);
    } finally {
      log.close();
    }
  }
}
