/** A file as one run's log, for what reads streams: opened anew each time, as it would be while the run goes on. */
import { Log } from "../../../src/log/log.ts";

export class PlainLog {
  readonly #path: string;
  #log: Log | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  open(): Log | undefined {
    this.#log = Log.open(this.#path, undefined, { type: "stdout", json: true });
    return this.#log;
  }

  close(): void {
    this.#log?.close();
    this.#log = undefined;
  }

  isUnchanged(): boolean {
    return false;
  }
}
