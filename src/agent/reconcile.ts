/**
 * Brings the registry in line with the facts. Looks at the runs in `active/` and at rows that claim to be alive, never at
 * the whole workspace: the cost does not grow with history.
 */
import { readdirSync } from "node:fs";
import type { AgentId, TaskId } from "../core/ids.ts";
import { isTaskId } from "../core/ids.ts";
import { ENDED_PHASES } from "../core/types.ts";
import { removeFile } from "../disk/inside.ts";
import { parseActiveMark } from "../disk/layout.ts";
import { readText } from "../disk/replace.ts";
import { scanMembers } from "../process/keeper.ts";
import type { RunRow } from "../registry/registry.ts";
import { adopt } from "./adopt.ts";
import { type Context, catchUp, withReader } from "./context.ts";
import { type Facts, readFacts } from "./facts.ts";
import { giveUp } from "./launch.ts";
import { runRow, trackedFiles } from "./record.ts";
import { isLaunchOverdue, LAUNCH_MS } from "./state.ts";
import { writeView } from "./view.ts";

export interface Observed {
  task: TaskId;
  agent: AgentId;
  run: number;
  facts: Facts;
  row: RunRow;
}

/** Every run that is not over, with its state read from disk and process table just now. */
export async function reconcile(context: Context, nowMs: number = Date.now()): Promise<Observed[]> {
  const { layout } = context;
  const known = withReader(context, (registry) => registry.list());
  const runs = new Map<string, { task: TaskId; agent: AgentId; run: number }>();
  for (const { agent, run } of known)
    runs.set(`${agent.id}.${run.run}`, { task: agent.task, agent: agent.id, run: run.run });
  for (const active of activeRuns(context)) runs.set(`${active.agent}.${active.run}`, active);
  const rows = new Map(known.map(({ run }) => [`${run.agent}.${run.run}`, run]));
  const observed: Observed[] = [];
  const unborn: RunRow[] = [];
  for (const [name, { task, agent, run }] of runs) {
    const paths = layout.run(task, agent, run);
    let facts = readFacts(paths);
    const row = rows.get(name);
    if (!facts.intent && !facts.claim) {
      // Reserved, but its launcher died before there was anything on disk that could run.
      if (row && nowMs - Date.parse(row.created_at) > LAUNCH_MS) unborn.push(row);
      continue;
    }
    if (facts.intent && isLaunchOverdue(facts, nowMs) && giveUp(context, facts.intent, "no keeper within 10 s"))
      facts = readFacts(paths);
    observed.push({ task, agent, run, facts, row: runRow(layout, task, agent, run, facts, true) });
  }
  await takeUpLost(context, observed);
  settle(context, observed, rows, unborn);
  return observed;
}

async function takeUpLost(context: Context, observed: readonly Observed[]): Promise<void> {
  const lost = observed.filter(({ row }) => row.phase === "lost");
  const members = scanMembers(
    context.layout.root,
    lost.map(({ task, agent, run, row }) => ({ nonce: row.nonce, dir: context.layout.run(task, agent, run).dir })),
  );
  for (const [i, { row }] of lost.entries()) row.alive = members[i] ?? [];
  await Promise.all(lost.map(({ facts }) => adopt(context, facts)));
}

function settle(
  context: Context,
  observed: readonly Observed[],
  rows: ReadonlyMap<string, RunRow>,
  unborn: readonly RunRow[],
): void {
  const changed = observed.filter(
    ({ row }) => rows.get(`${row.agent}.${row.run}`)?.phase !== row.phase || row.phase === "lost",
  );
  if (changed.length === 0 && unborn.length === 0) return;
  const told = catchUp(context, (registry) => {
    registry.putRuns(changed.map(({ row }) => row));
    for (const row of unborn) registry.deleteRun(row.agent, row.run);
    for (const { task, agent, run, row } of changed) {
      if (ENDED_PHASES.includes(row.phase)) registry.putFiles(agent, run, trackedFiles(context.layout, task, agent));
    }
  });
  if (!told) return;
  for (const { agent, run, row } of changed) {
    if (ENDED_PHASES.includes(row.phase)) removeFile(context.layout.root, context.layout.activeMark(agent, run));
  }
  for (const row of unborn) removeFile(context.layout.root, context.layout.activeMark(row.agent, row.run));
  for (const task of new Set(changed.map(({ task: id }) => id))) writeView(context, task);
}

/** The runs named in `active/`; the mark holds the run's folder, so that no search is needed. */
export function activeRuns({ layout }: Context): { task: TaskId; agent: AgentId; run: number }[] {
  let names: string[];
  try {
    names = readdirSync(layout.active);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const mark = parseActiveMark(name);
    const task = mark && readText(layout.activeMark(mark.agent, mark.run))?.split("/")[0];
    return mark && isTaskId(task) ? [{ ...mark, task }] : [];
  });
}
