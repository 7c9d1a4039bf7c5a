/** The composition root: one object over one workspace. Every door and the library do everything through it. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Archived, archive, restore } from "./agent/archive.ts";
import {
  type ArchiveStep,
  type Context,
  catchUp,
  type LaunchStep,
  Registries,
  withReader,
  withWriter,
} from "./agent/context.ts";
import { readFacts } from "./agent/facts.ts";
import { rebuildFrom } from "./agent/folders.ts";
import { launchFailed } from "./agent/launch.ts";
import { locate, resolveId } from "./agent/locate.ts";
import { hasEnded } from "./agent/observe.ts";
import { assertRun, type LogItem, type LogOf, type LogOptions, lookAt, readLog, readRaw } from "./agent/read.ts";
import { type Observed, reconcile } from "./agent/reconcile.ts";
import { agentRow, listRecord, runRow, runSummary, trackedFiles } from "./agent/record.ts";
import { restart } from "./agent/restart.ts";
import { type SearchHit, type SearchOptions, searchLogs } from "./agent/search.ts";
import { makeTask, type StartOptions, start } from "./agent/start.ts";
import { type StopOptions, stop } from "./agent/stop.ts";
import { type Config, type ConfigInput, loadConfig } from "./core/config.ts";
import { MidwatchError } from "./core/errors.ts";
import { type AgentId, newTaskId, type TaskId } from "./core/ids.ts";
import { follow, type Progress } from "./core/progress.ts";
import { iso } from "./core/time.ts";
import type { Guarantee, ListRecord, Phase, Report, ShowRecord, TaskFact } from "./core/types.ts";
import { layout, type RunPaths } from "./disk/layout.ts";
import { readJson } from "./disk/replace.ts";
import { findOrMakeWorkspace, findWorkspace, makeWorkspace } from "./disk/workspace.ts";
import { mergeByTime } from "./log/merge.ts";
import type { LogRecord } from "./log/record.ts";
import { type Verified, verify } from "./log/verify.ts";
import type { RunRow } from "./registry/registry.ts";

export type { Archived } from "./agent/archive.ts";
export type { LogItem, LogOptions } from "./agent/read.ts";
export type { LogRecord } from "./log/record.ts";

export interface OpenOptions {
  /** The workspace folder, or the project folder that holds it. Default: MIDWATCH_WORKSPACE, else the nearest upward. */
  workspace?: string | undefined;
  /** Make the workspace when there is none. */
  make?: boolean;
  /** Used as the workspace when the first choice cannot be written. */
  fallbackDir?: string | undefined;
  config?: ConfigInput;
  cwd?: string;
  env?: Readonly<Record<string, string | undefined>>;
  onStep?: (step: LaunchStep | ArchiveStep) => void;
}

export interface RunRecord {
  agent: AgentId;
  task: string;
  run: number;
  phase: Phase;
  log: string;
  pid: number | null;
  keeper_pid: number | null;
  guarantee: Guarantee | null;
  /** Things a person should know, such as little disk space. */
  warning?: string;
  error?: { code: string; message: string };
}

export interface WaitOptions {
  any?: boolean | undefined;
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface ReapRecord {
  agent: AgentId;
  run: number;
  phase: Phase;
  alive: number;
  action: "listed" | "stopped" | "settled" | "failed";
  report?: Report;
}

const DAY_MS = 24 * 3600 * 1000;
const RECONCILE_MS = 2000;

async function* named<T>(agent: AgentId, items: AsyncIterable<T>): AsyncGenerator<T & { agent: AgentId }> {
  for await (const item of items) yield { ...item, agent };
}

export function openWorkspace(options: OpenOptions = {}): Workspace {
  const cwd = options.cwd ?? process.cwd();
  const env = { ...(options.env ?? process.env) } as NodeJS.ProcessEnv;
  const query = { explicit: options.workspace, env, cwd };
  // Before anything is made: a mistyped flag must not leave a workspace behind.
  loadConfig({ env, flags: options.config ?? {} });
  let root: string;
  let usedFallback = false;
  try {
    root = options.make ? findOrMakeWorkspace(query) : findWorkspace(query);
  } catch (error) {
    const mayFallBack =
      options.fallbackDir !== undefined &&
      error instanceof MidwatchError &&
      ["NOT_WRITABLE", "DISK_FULL"].includes(error.code);
    if (!mayFallBack) throw error;
    root = makeWorkspace(options.fallbackDir as string);
    usedFallback = true;
  }
  const file = readJson(join(root, "..", "midwatch.config.json"));
  if (file.reason !== undefined)
    throw new MidwatchError("BAD_CONFIG", file.reason, { hint: "Mend or remove the file." });
  const config = loadConfig({ file: file.value, env, flags: options.config ?? {} });
  const paths = layout(root);
  return new Workspace(
    { layout: paths, config, env, cwd, registries: new Registries(paths), onStep: options.onStep },
    usedFallback,
  );
}

export class Workspace {
  readonly root: string;
  readonly config: Config;
  readonly usedFallback: boolean;
  readonly #context: Context;

  constructor(context: Context, usedFallback = false) {
    this.#context = context;
    this.root = context.layout.root;
    this.config = context.config;
    this.usedFallback = usedFallback;
  }

  async run(options: StartOptions): Promise<RunRecord> {
    const started = await start(this.#context, options);
    return {
      ...recordOf(started.row, started.task),
      ...(started.warning === undefined ? {} : { warning: started.warning }),
      ...(started.problem === undefined ? {} : { error: launchFailed(started).toJSON() }),
    };
  }

  async restart(id: string | undefined): Promise<RunRecord> {
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context);
    const launched = await restart(this.#context, agent);
    const { listed } = locate(this.#context, agent);
    return {
      ...recordOf(launched.row, listed.agent.task),
      ...(launched.problem === undefined ? {} : { error: launchFailed(launched).toJSON() }),
    };
  }

  task(description: string): TaskFact {
    return makeTask(this.#context, newTaskId(), description);
  }

  tasks(): TaskFact[] {
    return withReader(this.#context, (registry) => registry.tasks().map(({ data }) => data as unknown as TaskFact));
  }

  /** Newest first: those that live or ended within a day, or all. */
  async list(options: { all?: boolean | undefined; task?: string | undefined } = {}): Promise<ListRecord[]> {
    const found = await reconcile(this.#context);
    const observed = new Map(found.map((one) => [`${one.agent}.${one.run}`, one]));
    const listed = withReader(this.#context, (registry) =>
      registry.list(options.all ? { all: true } : { since: iso(Date.now() - DAY_MS) }),
    );
    // Lost ones whose processes nobody can see from here, and what the registry could not be told yet.
    const known = new Set(listed.map(({ agent }) => agent.id));
    for (const { agent, facts, row } of found)
      if (facts.intent && !known.has(agent) && !hasEnded(facts))
        listed.push({ agent: agentRow(facts.intent), run: row });
    return listed
      .sort((a, b) => compare(b.run.created_at, a.run.created_at) || compare(a.agent.id, b.agent.id))
      .filter(({ agent }) => options.task === undefined || agent.task === options.task)
      .map((entry) =>
        listRecord({ ...entry, run: observed.get(`${entry.run.agent}.${entry.run.run}`)?.row ?? entry.run }),
      );
  }

  async show(id?: string): Promise<ShowRecord> {
    const agent = resolveId(this.#context, id);
    const observed = await reconcile(this.#context);
    return this.#show(agent, observed);
  }

  #show(agent: AgentId, observed: readonly Observed[]): ShowRecord {
    const { layout: paths } = this.#context;
    const { listed, facts } = locate(this.#context, agent);
    const { task } = listed.agent;
    const fresh = observed.find((one) => one.agent === agent && one.run === listed.run.run)?.row;
    const run = fresh ?? (facts.intent ? runRow(paths, task, agent, listed.run.run, facts, true) : listed.run);
    const rows = withReader(this.#context, (registry) => registry.runsOf(agent));
    const earlier = (row: RunRow): RunRow => {
      const known = readFacts(paths.run(task, agent, row.run));
      return known.intent ? runRow(paths, task, agent, row.run, known, false) : row;
    };
    return {
      ...listRecord({ agent: listed.agent, run }),
      runs: rows.map((row) => runSummary(row.run === run.run ? run : earlier(row))),
      files: trackedFiles(paths, task, agent),
    };
  }

  /** Until all (or one) of the agents have ended. What has not when the time is up is returned as it is. */
  async wait(ids: readonly (string | undefined)[], options: WaitOptions = {}): Promise<ShowRecord[]> {
    const agents = ids.map((id) => resolveId(this.#context, id));
    const paths = agents.map((agent) => locate(this.#context, agent).paths);
    const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    let reconciled = Number.NEGATIVE_INFINITY;
    let pause = 5;
    for (;;) {
      const ended = agents.filter((_, i) => hasEnded(readFacts(paths[i] as RunPaths)));
      const enough = options.any ? ended.length > 0 : ended.length === agents.length;
      if (enough || performance.now() >= deadline || options.signal?.aborted) {
        const observed = await reconcile(this.#context);
        return (options.any && enough ? ended : agents).map((agent) => this.#show(agent, observed));
      }
      if (performance.now() - reconciled > RECONCILE_MS) {
        await reconcile(this.#context); // A keeper killed while we wait is taken over.
        for (const agent of agents) locate(this.#context, agent); // A launch that was given up is not waited for.
        reconciled = performance.now();
      }
      await sleep(Math.min(pause, Math.max(0, deadline - performance.now())));
      pause = Math.min(pause * 1.5, 100);
    }
  }

  stop(ids: readonly (string | undefined)[], options: StopOptions = {}): Promise<Report[]> {
    const agents = [...new Set(ids.map((id) => resolveId(this.#context, id)))];
    return stop(this.#context, agents, options);
  }

  /** What the agent printed, line by line. The line's bytes are valid until the next item is asked for. */
  log(id: string | undefined, options: LogOptions = {}): AsyncGenerator<LogItem> {
    return readLog(this.#context, this.#logOf(id, options), options);
  }

  async *logRecords(id: string | undefined, options: LogOptions = {}): AsyncGenerator<LogRecord> {
    for await (const { record } of this.log(id, options)) if (record !== undefined) yield record;
  }

  /** Exactly the bytes the agent printed. */
  logBytes(id: string | undefined, options: LogOptions = {}): AsyncGenerator<Uint8Array> {
    return readRaw(this.#context, this.#logOf(id, options), options);
  }

  /** All logs of a task as one, by time. */
  logTask(task: TaskId, options: LogOptions = {}): AsyncGenerator<LogItem & { agent: AgentId }> {
    const listed = withReader(this.#context, (registry) => registry.list({ all: true, task }));
    return mergeByTime(listed.map(({ agent }) => named(agent.id, this.log(agent.id, options))));
  }

  async verify(
    id: string | undefined,
    options: { run?: number | undefined; progress?: Progress } = {},
  ): Promise<Verified> {
    const of = this.#logOf(id, options);
    const { log, live } = lookAt(this.#context, of, of.run);
    if (log === undefined)
      throw new MidwatchError("NOT_FOUND_FILE", `The log of ${of.agent} is gone.`, {
        hint: `midwatch show ${of.agent}`,
      });
    try {
      return await follow(verify(log, log.end(live)), "checked", options.progress);
    } finally {
      log.close();
    }
  }

  search(
    text: string,
    options: Omit<SearchOptions, "agent"> & { agent?: string | undefined } = {},
  ): AsyncGenerator<SearchHit> {
    const agent = options.agent === undefined ? undefined : resolveId(this.#context, options.agent);
    return searchLogs(this.#context, text, { ...options, agent });
  }

  async archive(id: string, options: { run?: number | undefined; progress?: Progress } = {}): Promise<Archived> {
    await reconcile(this.#context);
    return await archive(this.#context, resolveId(this.#context, id), options.run, options.progress);
  }

  async restore(id: string, options: { run?: number | undefined; progress?: Progress } = {}): Promise<Archived> {
    await reconcile(this.#context);
    return await restore(this.#context, resolveId(this.#context, id), options.run, options.progress);
  }

  #logOf(id: string | undefined, { run, stderr }: LogOptions): LogOf {
    const { agent, run: newest } = locate(this.#context, resolveId(this.#context, id)).listed;
    const of: LogOf = {
      task: agent.task,
      agent: agent.id,
      run: run ?? newest.run,
      newest: newest.run,
      stderr: stderr ?? false,
      json: agent.driver !== "command",
    };
    assertRun(this.#context, of);
    return of;
  }

  /** Settles every run whose facts and row differ; with `lost`, ends runs that lost their keeper and live on. */
  async reap(
    options: { dryRun?: boolean | undefined; lost?: boolean | undefined; graceMs?: number | undefined } = {},
  ): Promise<ReapRecord[]> {
    const before = new Map(
      withReader(this.#context, (registry) => registry.list()).map(({ run }) => [`${run.agent}.${run.run}`, run.phase]),
    );
    if (!options.dryRun) this.rebuild();
    const observed = await reconcile(this.#context);
    const records: ReapRecord[] = [];
    for (const { agent, run, row } of observed) {
      const base = { agent, run, phase: row.phase, alive: row.alive?.length ?? 0 };
      if (row.phase === "lost" && row.alive?.length) {
        if (options.lost && !options.dryRun) {
          const [report] = await stop(this.#context, [agent], { graceMs: options.graceMs, reason: "reap --lost" });
          if (report) records.push({ ...base, action: report.verified ? "stopped" : "failed", report });
        } else records.push({ ...base, action: "listed" });
      } else if (before.get(`${agent}.${run}`) !== row.phase || row.phase === "lost") {
        records.push({ ...base, action: options.dryRun ? "listed" : "settled" });
      }
    }
    return records;
  }

  /** Makes the registry anew from the folders. */
  rebuild(): { tasks: number; agents: number; runs: number } {
    const contents = withWriter(this.#context, (registry) => rebuildFrom(this.#context.layout, registry));
    return { tasks: contents.tasks.length, agents: contents.agents.length, runs: contents.runs.length };
  }

  close(): void {
    this.#context.registries.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** What is wrong with the registry's file; empty when it is sound. */
  checkRegistry(): string[] {
    let problems: string[] = [];
    catchUp(this.#context, (registry) => {
      problems = registry.integrity();
    });
    return problems;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** As it was when the keeper answered: a short agent may have ended since, and `wait` or `show` will tell. */
function recordOf(
  row: {
    agent: AgentId;
    run: number;
    phase: Phase;
    log: string;
    pid: number | null;
    keeper_pid: number | null;
    guarantee: Guarantee | null;
  },
  task: string,
): RunRecord {
  const { agent, run, log, pid, keeper_pid, guarantee } = row;
  const phase = row.phase === "launch_failed" || pid === null ? "launch_failed" : "running";
  return { agent, task, run, phase, log, pid, keeper_pid, guarantee };
}
