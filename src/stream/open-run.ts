/** The log of one run, surely of that run: a restart moves files at any moment. */

import { openAt } from "../facts/log-path.ts";
import { hasLater } from "../facts/run-numbers.ts";
import { Log } from "../log/log.ts";
import type { Context, RunName } from "../workspace/context.ts";

export interface OpenedRun {
  path: string;
  index: string;
  log: Log;
}

/** Undefined while there is no file. The name in logs/ belongs to this run as long as no later one has an intent. */
export function openRun({ layout }: Pick<Context, "layout">, name: RunName, json: boolean): OpenedRun | undefined {
  for (let newest = !hasLater({ layout }, name); ; newest = false) {
    const opened = openAt(layout, { ...name, newest }, ({ log: path, index }) => {
      const log = Log.open(path, index, { type: "stdout", json });
      return log && { path, index, log };
    });
    if (!newest || !hasLater({ layout }, name)) return opened;
    opened?.log.close();
  }
}
