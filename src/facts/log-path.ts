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

/** Which file of which run. */
export interface FileOf {
  task: TaskId;
  agent: AgentId;
  run: number;
  newest: boolean;
  stderr?: boolean;
}

/**
 * The newest run's log is in logs/ until it is archived; an earlier one was moved to archive/ before the next run began. When
 * that next run never came to be (its launcher died just then), the newest is in archive/ too. While a file is being archived it is in
 * both places, whole in each: the plain one is quicker to read.
 */
export function logPlaces(layout: Layout, { task, agent, run, newest, stderr }: FileOf): string[] {
  const current = layout.agent(task, agent);
  const moved = layout.run(task, agent, run);
  const archived = stderr ? moved.archivedStderr : moved.archivedLog;
  return [...(newest ? [stderr ? current.stderr : current.log] : []), archived, `${archived}.zst`];
}

export function logPath(layout: Layout, of: FileOf): LogPath {
  const places = logPlaces(layout, of);
  const log = places.find((path) => existsSync(path)) ?? setAside(layout, of) ?? (places[0] as string);
  return { log, index: indexPath(layout, of) };
}

/**
 * What `open` gives at the first place that has the file. It may be on its way: each place is tried in the order in which files move,
 * so one that leaves a place before it is opened is met at the next; the second round is for one that is being restored.
 */
export function openAt<T>(layout: Layout, of: FileOf, open: (at: LogPath) => T | undefined): T | undefined {
  const places = logPlaces(layout, of);
  const at = (log: string): LogPath => ({
    log,
    get index() {
      return indexPath(layout, of);
    },
  });
  for (const log of [...places, ...places]) {
    const opened = open(at(log));
    if (opened !== undefined) return opened;
  }
  const log = setAside(layout, of);
  return log === undefined ? undefined : open(at(log));
}

function indexPath(layout: Layout, { task, agent, run, newest }: FileOf): string {
  const { archivedIndex } = layout.run(task, agent, run);
  return newest && !existsSync(archivedIndex) ? layout.agent(task, agent).index : archivedIndex;
}

/** A damaged log was kept aside, and can still be read. */
function setAside(layout: Layout, { task, agent, run, stderr }: FileOf): string | undefined {
  const moved = layout.run(task, agent, run);
  const archived = stderr ? moved.archivedStderr : moved.archivedLog;
  try {
    const prefix = `${basename(archived)}.corrupted.`;
    const name = readdirSync(dirname(archived)).find((entry) => entry.startsWith(prefix));
    return name === undefined ? undefined : join(dirname(archived), name);
  } catch (error) {
    throwIfExhausted(error);
    return undefined;
  }
}
