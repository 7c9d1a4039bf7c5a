/** Where a run's log is now. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { throwIfExhausted } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { Layout } from "../disk/layout.ts";

export interface LogPath {
  log: string;
  index: string;
}

/**
 * The newest run's log is in logs/ until it is archived; an earlier one was moved to archive/ before the next run began. When
 * that next run never came to be (its launcher died just then), the newest is in archive/ too.
 */
export function logPath(
  layout: Layout,
  task: TaskId,
  agent: AgentId,
  run: number,
  newest: boolean,
  stderr = false,
): LogPath {
  const current = layout.agent(task, agent);
  const moved = layout.run(task, agent, run);
  const plain = stderr ? current.stderr : current.log;
  const archived = stderr ? moved.archivedStderr : moved.archivedLog;
  const index = newest && !existsSync(moved.archivedIndex) ? current.index : moved.archivedIndex;
  // While a file is being archived it is in both places, whole in each: the plain one is quicker to read.
  const places = [...(newest ? [plain] : []), archived, `${archived}.zst`];
  const log = places.find((path) => existsSync(path)) ?? setAside(archived) ?? (newest ? plain : archived);
  return { log, index };
}

/** A damaged log was kept aside, and can still be read. */
function setAside(archived: string): string | undefined {
  try {
    const prefix = `${basename(archived)}.corrupted.`;
    const name = readdirSync(dirname(archived)).find((entry) => entry.startsWith(prefix));
    return name === undefined ? undefined : join(dirname(archived), name);
  } catch (error) {
    throwIfExhausted(error);
    return undefined;
  }
}
