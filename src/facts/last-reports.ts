import { Log } from "../log/log.ts";

/** The newest reports in a file, oldest first; a line that is none is passed over. */
export function lastReports<T>(path: string, most: number): T[] {
  const log = Log.open(path, undefined, { type: "line", json: true });
  if (log === undefined) return [];
  try {
    const end = log.end(true);
    const found: T[] = [];
    for (const { record } of log.records(log.tail(most, end), end))
      if (record?.data !== undefined && typeof record.data === "object") found.push(record.data as T);
    return found;
  } finally {
    log.close();
  }
}
