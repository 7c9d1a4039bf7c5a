/**
 * Reap: whatever nobody finished, in the whole workspace. The plan is made by reading only, so that `--dry-run` can show all of it
 * and change nothing; then each part of it is done by the code that does it everywhere else.
 */
import type { AgentId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import { iso } from "../core/time.ts";
import type { CleanupFailure, Phase, Report } from "../core/types.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { readFolders, rebuildFrom } from "../facts/folders.ts";
import { hasEnded, phaseNow } from "../facts/observe.ts";
import { runRow } from "../facts/record.ts";
import { LAUNCH_MS } from "../facts/state.ts";
import { witnessed } from "../facts/witness.ts";
import { remember } from "../files/archive.ts";
import { cleanUp } from "../files/cleanup.ts";
import { sealSome, withFolder } from "../files/seal-rest.ts";
import type { RunRow } from "../registry/registry.ts";
import { type Context, type RunName, withReader, withWriter } from "../workspace/context.ts";
import { findMembers, reconcile } from "./reconcile.ts";
import { stop } from "./stop.ts";

export interface ReapOptions {
  dryRun?: boolean | undefined;
  /** End lost runs that are alive. */
  lost?: boolean | undefined;
  graceMs?: number | undefined;
}

/** What has to be done, as a dry run says it; `listed` is a lost run that lives, and is ended only when asked for. */
type Todo = "listed" | "stop" | "settle" | "clean" | "retry" | "archive";
type Done = "listed" | "stopped" | "settled" | "cleaned" | "deleted" | "archived" | "failed";

/** One thing that nobody had finished, and what was done about it. */
export interface ReapRecord {
  agent: AgentId;
  run: number;
  phase: Phase;
  alive: number;
  action: Todo | Done;
  /** The file, when the action is about one. */
  path?: string;
  error?: string;
  report?: Report;
}

export interface FailureRecord extends CleanupFailure {
  agent: AgentId;
  run: number;
}

const SEAL_MS = 2000;

interface RunLook extends RunName {
  facts: Facts;
  row: RunRow;
  newest: boolean;
}

export async function reap(context: Context, options: ReapOptions = {}): Promise<ReapRecord[]> {
  const { before, looks } = await look(context);
  const plan = looks.flatMap((one) => planOf(context, one, before));
  if (options.dryRun)
    return [...plan, ...withoutFolder(looks, before)].map((record) =>
      record.action === "listed" && options.lost ? { ...record, action: "stop" } : record,
    );
  withWriter(context, (registry) => rebuildFrom(context.layout, registry));
  const records = await settle(context, before, options);
  for (const one of looks) {
    const todo = plan.find(({ agent, run, action }) => agent === one.agent && run === one.run && action in FINISH);
    if (todo !== undefined) records.push(...(await finish(context, one, todo.action as keyof typeof FINISH)));
  }
  await sealSome(context, withFolder(context), SEAL_MS);
  return records;
}

/** Every step of a cleanup that has not succeeded yet. */
export function failures(context: Context): FailureRecord[] {
  return everyRun(context).flatMap(({ agent, run, facts }) =>
    (facts.cleanup?.failures ?? []).map((failure) => ({ agent, run, ...failure })),
  );
}

function everyRun({ layout }: Context): RunLook[] {
  const { agents, runs } = readFolders(layout);
  const tasks = new Map(agents.map(({ id, task }) => [id, task]));
  const newest = new Map<AgentId, number>();
  for (const { agent, run } of runs) newest.set(agent, Math.max(run, newest.get(agent) ?? 0));
  return runs.flatMap((row) => {
    const { agent, run } = row;
    const task = tasks.get(agent);
    if (task === undefined) return [];
    return [
      { task, agent, run, row, newest: newest.get(agent) === run, facts: readFacts(layout.run(task, agent, run)) },
    ];
  });
}

/** The folders, the processes of lost runs, and what the registry believes. */
async function look(context: Context): Promise<{ before: Map<string, RunRow>; looks: RunLook[] }> {
  const rows = withReader(context, (registry) => registry.list({ all: true }));
  const before = new Map(rows.map(({ run }) => [`${run.agent}.${run.run}`, run]));
  const looks = await Promise.all(
    everyRun(context).map(async (one) => {
      const known = before.get(`${one.agent}.${one.run}`);
      // What is settled was looked at then; so was each run that another has followed.
      if (!one.newest || (known && isOver(known))) return one;
      const { facts } = await witnessed(context, one, one.facts, known?.nonce);
      if (facts === one.facts) return one;
      return { ...one, facts, row: runRow(context.layout, one.task, one.agent, one.run, facts, true) };
    }),
  );
  findMembers(context, looks);
  return { before, looks };
}

function planOf(
  { config }: Context,
  { agent, run, row, facts, newest }: RunLook,
  before: Map<string, RunRow>,
): ReapRecord[] {
  const record = (action: Todo, more: Partial<ReapRecord> = {}): ReapRecord => ({
    agent,
    run,
    phase: row.phase,
    alive: row.alive?.length ?? 0,
    action,
    ...more,
  });
  if (row.phase === "lost") return [record(row.alive?.length ? "listed" : "settle")];
  const known = before.get(`${agent}.${run}`)?.phase;
  const todo = newest && known !== row.phase ? [record("settle")] : [];
  if (!hasEnded(facts)) return todo;
  if (!facts.cleanup) return facts.unreadable ? todo : [...todo, record("clean")];
  const failed = facts.cleanup.failures ?? [];
  if (failed.length > 0) return [...todo, ...failed.map(({ path, error }) => record("retry", { path, error }))];
  const due = row.archive_from !== null && row.archive_from <= iso(Date.now() - config.archive_after);
  return due ? [...todo, record("archive", { path: row.log })] : todo;
}

/** Rows that nothing on the disk stands for, older than a launch may take. */
function withoutFolder(looks: readonly RunLook[], before: Map<string, RunRow>): ReapRecord[] {
  const here = new Set(looks.map(({ agent, run }) => `${agent}.${run}`));
  return [...before]
    .filter(([name, { created_at }]) => !here.has(name) && Date.now() - Date.parse(created_at) > LAUNCH_MS)
    .map(([, { agent, run, phase }]) => ({ agent, run, phase, alive: 0, action: "settle" }));
}

async function settle(context: Context, before: Map<string, RunRow>, options: ReapOptions): Promise<ReapRecord[]> {
  const records: ReapRecord[] = [];
  for (const { agent, run, row } of await reconcile(context, { everything: true })) {
    const base = { agent, run, phase: row.phase, alive: row.alive?.length ?? 0 };
    if (row.phase === "lost" && row.alive?.length) {
      if (options.lost) {
        const [report] = await stop(context, [agent], { graceMs: options.graceMs, reason: "reap --lost" });
        if (report) records.push({ ...base, action: report.verified ? "stopped" : "failed", report });
      } else records.push({ ...base, action: "listed" });
    } else if (before.get(`${agent}.${run}`)?.phase !== row.phase || row.phase === "lost") {
      records.push({ ...base, action: "settled" });
    }
  }
  return records;
}

const FINISH = { clean: {}, retry: { retry: true }, archive: { archive: true } } as const;

async function finish(
  context: Context,
  { newest, task, agent, run }: RunLook,
  todo: keyof typeof FINISH,
): Promise<ReapRecord[]> {
  const facts = readFacts(context.layout.run(task, agent, run));
  if (!hasEnded(facts)) return [];
  // Settling it has done so, and told registry and view of all of them at once.
  if (todo === "clean" && facts.cleanup) return [{ agent, run, phase: phaseNow(facts), alive: 0, action: "cleaned" }];
  const fact = await cleanUp(context, { task, agent, run }, facts, FINISH[todo]);
  remember(context, { task, agent, run }, newest);
  const base = { agent, run, phase: phaseNow({ ...facts, cleanup: fact }), alive: 0 };
  if (todo === "clean") return [{ ...base, action: "cleaned" }];
  const changed = fact.files.filter(
    ({ path: at, action }) => !facts.cleanup?.files.some((file) => file.path === at && file.action === action),
  );
  return [
    ...changed.flatMap(({ path: at, action }): ReapRecord[] =>
      action === "deleted" || action === "archived" ? [{ ...base, action, path: at }] : [],
    ),
    ...(fact.failures ?? []).map(({ path, error }): ReapRecord => ({ ...base, action: "failed", path, error })),
  ];
}
