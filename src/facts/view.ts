/** AGENT_REGISTRY.json: a task's agents for people and jq. A view: replaced whole, never read back. */
import type { TaskId } from "../core/ids.ts";
import { maskValue } from "../core/mask/mask.ts";
import { isOver } from "../core/phase.ts";
import { iso } from "../core/time.ts";
import { replaceFastInside } from "../disk/write-inside.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { listRecord } from "./record.ts";
import { trackedFiles } from "./tracked.ts";

const TRACKED = {
  prompt: "prompt_file",
  log: "log_file",
  progress: "progress_file",
  findings: "findings_file",
  deploy: "deploy_log",
  stderr: "stderr_file",
  index: "index_file",
  run: "run_folder",
  summaries: "summaries_folder",
  worktree: "worktree",
} as const;

export function writeView(context: Context, task: TaskId): void {
  const { listed, reports } = withReader(context, (registry) => ({
    listed: registry.list({ all: true, task }),
    reports: registry.reports(task),
  }));
  const agents = listed.map((entry) => {
    // Verdicts change without a change of this file: it must not say who needs a person.
    const { agent: id, phase, attention: _, usd_per_hour: _rate, ...told } = listRecord(entry);
    const rest = maskValue(told) as typeof told;
    const name = { task, agent: id, run: entry.run.run };
    const files = trackedFiles(context.layout, name).map(({ kind, ...file }) => [TRACKED[kind], file] as const);
    return {
      id,
      status: phase,
      ...rest,
      pid: entry.run.pid,
      keeper_pid: entry.run.keeper_pid,
      progress: maskValue(reports.find(({ agent, kind }) => agent === id && kind === "progress")?.data ?? null),
      tracked_files: Object.fromEntries(files.map(([key, { path }]) => [key, path])),
      file_facts: Object.fromEntries(files),
    };
  });
  // Counted now from what is listed: a number that is kept and changed would go wrong one day.
  const counts = {
    total: agents.length,
    active: listed.filter(({ run }) => !isOver(run)).length,
    completed: listed.filter(({ run }) => run.outcome === "completed").length,
  };
  try {
    const view = { task, as_of: iso(), ...counts, agents };
    replaceFastInside(context.layout.root, context.layout.task(task).view, `${JSON.stringify(view, null, 1)}\n`);
  } catch {
    // A full disk or a deleted folder must not fail a stop over a view; the next change writes it again.
  }
}
