/** What a CLI tells on its stderr alone, such as retries that its stream leaves out. Bounded: of much that is new only the end is read. */
import { statSync } from "node:fs";
import type { Driver, TroubleActivity } from "../drivers/index.ts";
import type { Observed } from "../facts/observe.ts";
import { FileSource } from "../log/source.ts";
import type { Context } from "../workspace/context.ts";
import { RunLog } from "./run-log.ts";

const MOST_BYTES = 64 << 10;

export class StderrReading {
  #log: RunLog | undefined;
  #offset = 0;

  /** The troubles since the last look. None while stdout is the newer of the two: then the CLI has got over them. */
  read(context: Context, { task, agent, run, row }: Observed, driver: Driver): TroubleActivity[] {
    if (driver.stderr === undefined || row.phase !== "running") return [];
    this.#log ??= new RunLog(context, { task, agent, run, stderr: true, json: false });
    if (this.#log.isUnchanged()) return [];
    using _ = this.#log;
    const source = this.#log.open(true)?.source;
    if (!(source instanceof FileSource) || source.opened.size <= this.#offset) return [];
    const text = this.#readOn(source);
    const stdout = statSync(row.log, { throwIfNoEntry: false });
    return (stdout?.mtimeMs ?? 0) > source.opened.mtimeMs ? [] : driver.stderr(text, source.opened.mtimeMs);
  }

  /** Whole lines only: the rest of the last one is still to come. */
  #readOn(source: FileSource): string {
    const { size } = source.opened;
    const from = Math.max(this.#offset, size - MOST_BYTES);
    const bytes = Buffer.alloc(size - from);
    const whole = bytes.subarray(0, source.read(bytes, from));
    const end = whole.lastIndexOf("\n") + 1;
    // A line longer than all that is read at once is passed over.
    this.#offset = from + (end === 0 && whole.length === MOST_BYTES ? whole.length : end);
    return whole.toString("utf8", 0, end);
  }
}
