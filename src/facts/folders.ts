/** The whole workspace read from its folders: what the registry is rebuilt from. */

import { readdirSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";
import { type AgentId, isAgentId, isTaskId, type TaskId } from "../core/ids.ts";
import type { TaskFact } from "../core/intent.ts";
import { is, name, type Shape, text, time, whole } from "../core/shape/shape.ts";
import type { AgentSummary } from "../core/summary.ts";
import { iso } from "../core/time.ts";
import type { Verdict } from "../core/types.ts";
import type { Layout } from "../disk/layout.ts";
import { readJson } from "../disk/replace.ts";
import type {
  AgentRow,
  Contents,
  FileRow,
  Registry,
  ReportRow,
  RunRow,
  SummaryRow,
  TaskRow,
} from "../registry/registry.ts";
import { readFacts } from "./facts.ts";
import { lastReportsOf } from "./last-reports.ts";
import { agentRow, runRow } from "./record.ts";
import { numbersIn } from "./run-numbers.ts";
import { LAUNCH_MS } from "./state.ts";
import { trackedFiles } from "./tracked.ts";

const TASK: Shape = { description: text, created_at: time };
const SUMMARY: Shape = {
  run: whole,
  id: name,
  on_track_status: is("on_track", "drifting", "off_track", "blocked", "unknown"),
};
/** The time of an agent whose intent cannot be read. */
const NEVER = iso(0);

/** Makes a registry anew. A launch reserves its row before it has a folder, so rows younger than a launch may take stay. */
export function rebuildFrom(layout: Layout, registry: Registry): Contents {
  const keepSince = iso(Date.now() - LAUNCH_MS);
  const contents = readFolders(layout);
  const known = registry.list({ all: true });
  // A nonce is known from before the run began; the one in its folder may be another's by now.
  const nonces = new Map(known.map(({ run }) => [`${run.agent}.${run.run}`, run.nonce]));
  for (const row of contents.runs) row.nonce = nonces.get(`${row.agent}.${row.run}`) || row.nonce;
  const agents = new Map(known.map(({ agent }) => [agent.id, agent]));
  contents.agents = contents.agents.map((row) => (row.created_at === NEVER ? (agents.get(row.id) ?? row) : row));
  registry.rebuild(contents, keepSince);
  return contents;
}

/** Of one task, or of all. */
export function readFolders(layout: Layout, only?: TaskId): Contents {
  const tasks: TaskRow[] = [];
  const agents: AgentRow[] = [];
  const runs: RunRow[] = [];
  const files: FileRow[] = [];
  const reports: ReportRow[] = [];
  const summaries: SummaryRow[] = [];
  for (const task of names(layout.root)
    .filter(isTaskId)
    .filter((id) => only === undefined || id === only)) {
    const fact = readJson<TaskFact>(layout.task(task).fact, { shape: TASK }).value;
    if (fact)
      tasks.push({ id: task, description: fact.description, created_at: fact.created_at, data: { ...fact, task } });
    for (const agent of names(layout.task(task).runs).filter(isAgentId)) {
      const known = numbersIn(names(layout.agent(task, agent).runs))
        .map((run) => ({ run, facts: readFacts(layout.run(task, agent, run)) }))
        .filter(({ facts }) => facts.intent !== undefined || facts.damaged.length > 0);
      const newest = known.at(-1);
      if (!newest) continue;
      const rows = known.map(({ run, facts }) => runRow(layout, task, agent, run, facts, run === newest.run));
      const first = known.find(({ facts }) => facts.intent)?.facts.intent;
      agents.push(first ? agentRow(first) : unknownAgent(task, agent));
      runs.push(...rows);
      for (const file of trackedFiles(layout, { task, agent, run: newest.run }))
        files.push({ ...file, agent, run: newest.run });
      const said = storedSummary(layout, task, agent);
      if (said !== undefined) summaries.push(said);
      for (const run of runs) if (run.agent === agent && run.run === said?.run) run.verdict = verdictOf(said);
      for (const kind of ["progress", "findings"] as const)
        for (const data of lastReportsOf(layout, { agent: { id: agent, task }, run: newest }, kind, 1))
          reports.push({ agent, kind, data });
    }
  }
  return { tasks, agents, runs, files, reports, summaries };
}

/** No intent of it can be read. It is listed all the same: it may live, and its log is there. */
export function unknownAgent(task: TaskId, id: AgentId): AgentRow {
  const unknown = { role: null, name: null, parent: null, depth: 0, model: null, labels: null, capability: null };
  return { id, task, driver: "command", created_at: NEVER, ...unknown };
}

/** What the watch said last; what is not whole is made again from the log. */
function storedSummary(layout: Layout, task: TaskId, agent: AgentId): SummaryRow | undefined {
  const data = readJson<AgentSummary>(layout.agent(task, agent).latestSummary, { shape: SUMMARY }).value;
  if (data?.instance_id !== agent) return undefined;
  const { run, id, final } = data;
  return { agent, run, id, told: id, final: final === true ? 1 : 0, data: data as unknown as Record<string, unknown> };
}

function verdictOf({ data }: SummaryRow): Verdict {
  return data["on_track_status"] as Verdict;
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throwIfExhausted(error);
    return [];
  }
}
