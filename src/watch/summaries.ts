/** What the watch has said, for those who ask; and the places of readers. */

import type { AgentId } from "../core/ids.ts";
import type { AgentSummary } from "../core/summary.ts";
import { iso } from "../core/time.ts";
import { readFacts } from "../facts/facts.ts";
import type { Observed } from "../facts/observe.ts";
import { runRow } from "../facts/record.ts";
import type { CursorRow, Listed } from "../registry/registry.ts";
import { reconcile } from "../run/reconcile.ts";
import { type Context, withReader, withWriter } from "../workspace/context.ts";
import { type Batch, readNewLines } from "./file-reader.ts";
import type { HeldFiles } from "./held-files.ts";
import { Watch } from "./watch.ts";

/** A reader's durable place in a log. */
export type LogPosition = CursorRow;

const DAY_MS = 24 * 3_600_000;

/** Of these agents, or of all that live or ended within a day: of each its newest run, looked at now unless it is over. */
export async function latestSummaries(context: Context, only?: ReadonlySet<AgentId>): Promise<AgentSummary[]> {
  const observed = await reconcile(context, { of: [...(only ?? [])] });
  const live = new Map(observed.map((one) => [one.agent, one]));
  const { listed, stored } = withReader(context, (registry) => {
    const found = registry
      .list(only === undefined ? { since: iso(Date.now() - DAY_MS) } : { all: true })
      .filter(({ agent }) => only === undefined || only.has(agent.id));
    const rows = found.map(({ run }) => registry.watched.summary(run.agent, run.run));
    return { listed: found, stored: new Map(rows.flatMap((row) => (row ? [[row.agent, row] as const] : []))) };
  });
  const open = listed.filter(({ agent }) => stored.get(agent.id)?.final !== 1);
  const looked = open.flatMap((one) => live.get(one.agent.id) ?? observe(context, one));
  const { summaries } = await new Watch(context).round({
    observed: looked,
    only: new Set(looked.map(({ agent }) => agent)),
    once: true,
  });
  const fresh = new Map(summaries.map((summary) => [`${summary.instance_id}.${summary.run}`, summary]));
  return listed.flatMap(({ run }) => {
    const known = stored.get(run.agent)?.data as unknown as AgentSummary | undefined;
    return fresh.get(`${run.agent}.${run.run}`) ?? known ?? [];
  });
}

function observe({ layout }: Context, { agent, run }: Listed): Observed[] {
  const name = { task: agent.task, agent: agent.id, run: run.run };
  const facts = readFacts(layout.run(name.task, name.agent, name.run));
  return [{ ...name, facts, row: runRow(layout, name.task, name.agent, name.run, facts, true), left: false }];
}

export interface Positions {
  get(agent: AgentId, log: string, run?: number): CursorRow | undefined;
  all(): CursorRow[];
  update(rows: readonly CursorRow[]): void;
  /** The next read begins at the start. */
  reset(agent: AgentId, log?: string): void;
  remove(agent: AgentId, log?: string): void;
  clear(): void;
  /** What was made of what was read, of every run. */
  summaries(): AgentSummary[];
  /** Which of them are of this time or later, oldest first. */
  summariesSince(time: string): { agent: AgentId; run: number; at: string }[];
}

export function positions(context: Context): Positions {
  const remove = (agent?: AgentId, log?: string): void =>
    withWriter(context, ({ watched }) => watched.removeCursors(agent, log));
  return {
    get: (agent, log, run) => withReader(context, ({ watched }) => watched.cursor(agent, log, run)),
    all: () => withReader(context, ({ watched }) => watched.cursors()),
    update: (rows) => withWriter(context, ({ watched }) => watched.putCursors(rows)),
    reset: remove,
    remove,
    clear: () => remove(),
    summariesSince: (time) => withReader(context, ({ watched }) => watched.summariesSince(time)),
    summaries: () =>
      withReader(context, ({ watched }) => watched.summaries()).map(({ data }) => data as unknown as AgentSummary),
  };
}

export function readFile(
  context: Context,
  files: HeldFiles,
  reader: AgentId,
  path: string,
): Batch & { commit(): void } {
  const batch = readNewLines(
    reader,
    path,
    positions(context).get(reader, path),
    files,
    Math.max(1, context.config.watch_lines),
  );
  return { ...batch, commit: () => positions(context).update([batch.cursor]) };
}
