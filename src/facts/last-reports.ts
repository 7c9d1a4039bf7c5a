/** What an agent reported: beside its log, and in the archive where an earlier run, or one that was cleaned up after, has left it. */
import type { Layout } from "../disk/layout.ts";
import { Log } from "../log/log.ts";
import type { AgentRow, RunRow } from "../registry/registry.ts";

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

/** The newest reports of an agent, oldest first. */
export function lastReportsOf<T = Record<string, unknown>>(
  layout: Layout,
  { agent, run }: { agent: Pick<AgentRow, "id" | "task">; run: Pick<RunRow, "run"> },
  kind: "progress" | "findings",
  most: number,
): T[] {
  const found = lastReports<T>(layout.agent(agent.task, agent.id)[kind], most);
  for (let number = run.run; number > 0 && found.length < most; number--) {
    const paths = layout.run(agent.task, agent.id, number);
    const archived = kind === "progress" ? paths.archivedProgress : paths.archivedFindings;
    found.unshift(...lastReports<T>(archived, most - found.length));
  }
  return found;
}
