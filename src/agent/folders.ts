/** The whole workspace read from its folders: what the registry is rebuilt from. */
import { readdirSync } from "node:fs";
import { throwIfExhausted } from "../core/errors.ts";
import { isAgentId, isTaskId, type TaskId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import type { TaskFact } from "../core/types.ts";
import type { Layout } from "../disk/layout.ts";
import { readJson } from "../disk/replace.ts";
import type { AgentRow, Contents, FileRow, Registry, ReportRow, RunRow, TaskRow } from "../registry/registry.ts";
import { readFacts } from "./facts.ts";
import { lastReports } from "./last-reports.ts";
import { agentRow, runRow } from "./record.ts";
import { LAUNCH_MS } from "./state.ts";
import { trackedFiles } from "./tracked.ts";

/** Makes a registry anew. A launch reserves its row before it has a folder, so rows younger than a launch may take stay. */
export function rebuildFrom(layout: Layout, registry: Registry): Contents {
  const keepSince = iso(Date.now() - LAUNCH_MS);
  const contents = readFolders(layout);
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
  for (const task of names(layout.root)
    .filter(isTaskId)
    .filter((id) => only === undefined || id === only)) {
    const fact = readJson<TaskFact>(layout.task(task).fact).value;
    if (fact)
      tasks.push({ id: task, description: fact.description, created_at: fact.created_at, data: { ...fact, task } });
    for (const agent of names(layout.task(task).runs).filter(isAgentId)) {
      const numbers = names(layout.agent(task, agent).runs).map(Number).filter(Number.isSafeInteger);
      const known = numbers
        .sort((a, b) => a - b)
        .map((run) => ({ run, facts: readFacts(layout.run(task, agent, run)) }))
        .filter(({ facts }) => facts.intent !== undefined);
      const newest = known.at(-1);
      const first = known[0]?.facts.intent;
      if (!newest || !first) continue;
      agents.push(agentRow(first));
      for (const { run, facts } of known) runs.push(runRow(layout, task, agent, run, facts, run === newest.run));
      for (const file of trackedFiles(layout, { task, agent, run: newest.run }))
        files.push({ ...file, agent, run: newest.run });
      for (const kind of ["progress", "findings"] as const)
        for (const data of lastReports<Record<string, unknown>>(layout.agent(task, agent)[kind], 1))
          reports.push({ agent, kind, data });
    }
  }
  return { tasks, agents, runs, files, reports };
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throwIfExhausted(error);
    return [];
  }
}
