/** What the streams of runs have told so far; each look reads on from where the last one ended. */
import type { StreamReader, StreamResult } from "../drivers/driver.ts";
import { openAt } from "../facts/log-path.ts";
import { Log } from "../log/log.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";

interface Reading {
  reader: StreamReader;
  offset: number;
  received: number;
}

export interface Told {
  result: StreamResult;
  /** Messages that the CLI said it has taken up. */
  received: number;
}

export class Readings {
  readonly #context: Context;
  readonly #readings = new Map<string, Reading>();

  constructor(context: Context) {
    this.#context = context;
  }

  async read({ task, agent, run }: RunName, driverName: string, newest = true): Promise<Told> {
    const driver = await findDriver(this.#context, driverName);
    const key = keyOf(agent, run);
    const reading = this.#readings.get(key) ?? { reader: driver.reader(), offset: 0, received: 0 };
    this.#readings.set(key, reading);
    const log = driver.json
      ? openAt(this.#context.layout, { task, agent, run, newest }, ({ log: path }) =>
          Log.open(path, undefined, { type: "stdout", json: true }),
        )
      : undefined;
    if (log !== undefined) {
      try {
        const end = log.end(true);
        for (const { record } of log.records({ offset: reading.offset, line: null }, end)) {
          if (record === undefined) continue;
          for (const activity of reading.reader.read(record.data ?? record.text ?? ""))
            if (activity.kind === "note" && activity.name === "message_received") reading.received++;
        }
        reading.offset = Math.max(end, reading.offset);
      } finally {
        log.close();
      }
    }
    return { result: reading.reader.result(), received: reading.received };
  }

  /** Forgets runs that are over. */
  keep(runs: readonly RunName[]): void {
    const keys = new Set(runs.map(({ agent, run }) => keyOf(agent, run)));
    for (const key of this.#readings.keys()) if (!keys.has(key)) this.#readings.delete(key);
  }
}

function keyOf(agent: string, run: number): string {
  return `${agent}.${run}`;
}
