/** AGENT_REGISTRY.json: a task's agents for people and jq. A view: replaced whole, never read back. */
import type { TaskId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { replaceFast } from "../disk/replace.ts";
import { type Context, withReader } from "./context.ts";
import { listRecord, trackedFiles } from "./record.ts";

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
  const listed = withReader(context, (registry) => registry.list({ all: true, task }));
  const agents = listed.map((entry) => {
    const { agent: id, phase, ...rest } = listRecord(entry);
    const files = trackedFiles(context.layout, task, id).map(({ kind, ...file }) => [TRACKED[kind], file] as const);
    return {
      id,
      status: phase,
      ...rest,
      pid: entry.run.pid,
      keeper_pid: entry.run.keeper_pid,
      tracked_files: Object.fromEntries(files.map(([name, { path }]) => [name, path])),
      file_facts: Object.fromEntries(files),
    };
  });
  try {
    replaceFast(context.layout.task(task).view, `${JSON.stringify({ task, as_of: iso(), agents }, null, 1)}\n`);
  } catch {
    // A full disk or a deleted folder must not fail a stop over a view; the next change writes it again.
  }
}
