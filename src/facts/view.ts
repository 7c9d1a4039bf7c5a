/** AGENT_REGISTRY.json: a task's agents for people and jq. A view: replaced whole, never read back. */
import type { TaskId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import { maskValue } from "../core/mask/mask.ts";
import type { Said } from "../core/phase.ts";
import { isOver } from "../core/phase.ts";
import { iso } from "../core/time.ts";
import type { RunPaths } from "../disk/layout.ts";
import { readFact } from "../disk/sealed.ts";
import { replaceFastInside } from "../disk/write-inside.ts";
import type { Listed, ReportRow } from "../registry/registry.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { runMasker } from "./facts.ts";
import { lastReportsOf } from "./last-reports.ts";
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

const PROMPT_CHARACTERS = 200;
/** So much of it is searched for secrets: one that begins in what is shown has to be seen whole. */
const PROMPT_SEARCHED = 65_536;
/** Reports that are looked through for the last one that tells how far the agent has come. */
const REPORTS = 20;

export function writeView(context: Context, task: TaskId): void {
  const { listed, reports } = withReader(context, (registry) => ({
    listed: registry.list({ all: true, task }),
    reports: registry.reports(task),
  }));
  const said = new Map(reports.filter(({ kind }) => kind === "progress").map(({ agent, data }) => [agent, data]));
  // Counted now from what is listed: a number that is kept and changed would go wrong one day.
  const active = listed.filter(({ run }) => !isOver(run)).length;
  const counts = {
    total: listed.length,
    active,
    active_count: active,
    completed: listed.filter(({ run }) => run.outcome === "completed").length,
  };
  const agents = listed.map((entry) => agentView(context, entry, said.get(entry.agent.id)));
  try {
    const view = { task, as_of: iso(), ...counts, agents };
    replaceFastInside(context.layout.root, context.layout.task(task).view, `${JSON.stringify(view, null, 1)}\n`);
  } catch {
    // A full disk or a deleted folder must not fail a stop over a view; the next change writes it again.
  }
}

function agentView(context: Context, entry: Listed, report: ReportRow["data"] | undefined): object {
  const { layout } = context;
  const { agent, run } = entry;
  const paths = layout.run(agent.task, agent.id, run.run);
  const intent = readFact<IntentFact>(paths, paths.intent);
  const said = report as (Said & Record<string, unknown>) | undefined;
  // Verdicts change without a change of this file: it must not say who needs a person.
  const { agent: id, attention: _, usd_per_hour: _rate, status, ...told } = listRecord(entry, null, null, said);
  const files = trackedFiles(layout, paths.of, intent).map(({ kind, ...file }) => [TRACKED[kind], file] as const);
  return {
    id,
    status,
    type: agent.role,
    depth: agent.depth + 1,
    ...(maskValue(told) as typeof told),
    pid: run.pid,
    keeper_pid: run.keeper_pid,
    prompt: promptOf(paths, intent?.prompt ?? null),
    // `attach` opens a window of the person who looks; no session of tmux is ever the agent's.
    tmux_session: null,
    progress: percentOf(context, entry, report),
    progress_report: maskValue(report ?? null),
    last_update: lastUpdate(entry, said?.timestamp),
    tracked_files: Object.fromEntries(files.map(([key, { path }]) => [key, path])),
    file_facts: Object.fromEntries(files),
  };
}

/** Its beginning. Hidden first and cut then: a part of a secret is not known for one. */
function promptOf(paths: RunPaths, prompt: string | null): string | null {
  if (typeof prompt !== "string") return null;
  const shown = [...runMasker(paths).text(prompt.slice(0, PROMPT_SEARCHED))];
  return shown.length > PROMPT_CHARACTERS ? `${shown.slice(0, PROMPT_CHARACTERS).join("")}...` : shown.join("");
}

/** As it said last; 0 when it never did. */
function percentOf({ layout }: Context, entry: Listed, report: ReportRow["data"] | undefined): number {
  if (report === undefined) return 0;
  const all = typeof report["progress"] === "number" ? [report] : lastReportsOf(layout, entry, "progress", REPORTS);
  const told = all.map(({ progress }) => progress).filter((percent) => typeof percent === "number");
  return told.at(-1) ?? 0;
}

function lastUpdate({ run }: Listed, reported: string | undefined): string {
  const { created_at, started_at, ended_at, last_output_at } = run;
  const times = [created_at, started_at, ended_at, last_output_at, reported].map((time) => Date.parse(time ?? ""));
  return iso(Math.max(...times.filter((ms) => !Number.isNaN(ms))));
}
