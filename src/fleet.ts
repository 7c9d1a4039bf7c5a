/** The composition root: one object over one workspace. Every door and the library do everything through it. */
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Archived, archive, restore } from "./agent/archive.ts";
import { audit } from "./agent/audit.ts";
import { agentByCapability, assertAbove, assertPerson } from "./agent/caller.ts";
import { type CheckpointRecord, checkpoint } from "./agent/checkpoint.ts";
import {
  type ArchiveStep,
  type Caller,
  type Context,
  catchUp,
  type LaunchStep,
  Registries,
  withReader,
  withWriter,
} from "./agent/context.ts";
import { costOf } from "./agent/cost.ts";
import { readFacts } from "./agent/facts.ts";
import { findDriver } from "./agent/find-driver.ts";
import { rebuildFrom } from "./agent/folders.ts";
import { type HouseOptions, type HouseRecord, keepHouse } from "./agent/house.ts";
import { announcedServer, announceServer, httpToken, type ServerFact, withdrawServer } from "./agent/http-files.ts";
import {
  initScripts,
  logEvent,
  type NewEvent,
  readEvents,
  snapshot,
  snapshotRounds,
  watchSnapshot,
} from "./agent/journal.ts";
import { launchFailed } from "./agent/launch.ts";
import { locate, resolveId } from "./agent/locate.ts";
import { Loop } from "./agent/loop.ts";
import { Maskers } from "./agent/maskers.ts";
import { closeIdle, closeInput, messagesOf, sendMessage } from "./agent/messages.ts";
import { Metrics } from "./agent/metrics.ts";
import { hasEnded } from "./agent/observe.ts";
import { type Glance, glance, type Page, type PageOptions, readPage } from "./agent/page.ts";
import { type PruneOptions, type PruneRecord, prune, undoPrune } from "./agent/prune.ts";
import { startWaiting } from "./agent/queue.ts";
import { assertRun, type LogItem, type LogOf, type LogOptions, lookAt, readLog, readRaw } from "./agent/read.ts";
import { Readings } from "./agent/readings.ts";
import { type FailureRecord, failures, type ReapOptions, type ReapRecord, reap } from "./agent/reap.ts";
import { type Observed, reconcile } from "./agent/reconcile.ts";
import { agentRow, listRecord, runRow, runSummary } from "./agent/record.ts";
import { type FindingReport, type Peers, type ProgressReport, reportFinding, reportProgress } from "./agent/report.ts";
import { type RestartOptions, restart } from "./agent/restart.ts";
import { type SearchHit, type SearchOptions, searchLogs } from "./agent/search.ts";
import {
  checkStart,
  putTask,
  type StartOptions,
  start,
  type TaskOptions,
  taskFact,
  wantsWorktree,
} from "./agent/start.ts";
import { type StopOptions, stop } from "./agent/stop.ts";
import { latestSummaries, type Positions, positions, readFile } from "./agent/summaries.ts";
import { readTimeline, type Timeline } from "./agent/timeline.ts";
import { trackedFiles } from "./agent/tracked.ts";
import { Watch } from "./agent/watch.ts";
import { watchRounds } from "./agent/watch-rounds.ts";
import { findRepository, worktreeState } from "./agent/worktree.ts";
import { type DiffOptions, diffWorktree, type WorktreeDiff } from "./agent/worktree-diff.ts";
import { type Config, type ConfigInput, loadConfig } from "./core/config.ts";
import { MidwatchError } from "./core/errors.ts";
import { type AgentId, newTaskId, parseAgentId, type TaskId } from "./core/ids.ts";
import { follow, type Progress } from "./core/progress.ts";
import { iso } from "./core/time.ts";
import type { ChildRecord, Guarantee, ListRecord, Message, Phase, Report, ShowRecord, TaskFact } from "./core/types.ts";
import { layout, type RunPaths } from "./disk/layout.ts";
import { readJson } from "./disk/replace.ts";
import { findOrMakeWorkspace, findWorkspace, makeWorkspace } from "./disk/workspace.ts";
import { type Activity, DRIVERS } from "./drivers/index.ts";
import { checkpointFile } from "./journal/checkpoint.ts";
import { type ConsumeOptions, consume } from "./journal/consume.ts";
import { EmbeddedEngine } from "./journal/embedded-engine.ts";
import type { Cursor, Stored } from "./journal/engine.ts";
import type { JournalEvent } from "./journal/event.ts";
import { type HealthRecord, health } from "./journal/health.ts";
import type { EventsOptions } from "./journal/journal.ts";
import { type Leadership, leadership, watchLeadership } from "./journal/leader.ts";
import { resumeAll } from "./journal/pause.ts";
import type { SnapshotReport } from "./journal/project.ts";
import { fenced } from "./journal/term.ts";
import { mergeByTime } from "./log/merge.ts";
import type { LogRecord } from "./log/record.ts";
import { type Verified, verify } from "./log/verify.ts";
import type { CostBy, CostRecord } from "./monitor/cost.ts";
import type { Batch } from "./monitor/file-reader.ts";
import type { AgentSummary } from "./monitor/summary.ts";
import { openWindow, type Window } from "./process/window.ts";
import type { RunRow } from "./registry/registry.ts";

export type { Archived } from "./agent/archive.ts";
export type { CheckpointRecord } from "./agent/checkpoint.ts";
export type { Caller } from "./agent/context.ts";
export type { HouseRecord } from "./agent/house.ts";
export type { ServerFact } from "./agent/http-files.ts";
export type { Glance, Page } from "./agent/page.ts";
export type { PruneOptions, PruneRecord } from "./agent/prune.ts";
export type { LogItem, LogOptions } from "./agent/read.ts";
export type { FailureRecord, ReapOptions, ReapRecord } from "./agent/reap.ts";
export type { Activity } from "./drivers/index.ts";
export type { Stored } from "./journal/engine.ts";
export type { JournalEvent } from "./journal/event.ts";
export type { HealthRecord } from "./journal/health.ts";
export type { Leadership } from "./journal/leader.ts";
export type { LogRecord } from "./log/record.ts";
export type { AgentSummary } from "./monitor/summary.ts";

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

export interface Followed {
  agent: AgentId;
  run: number;
  newest: number;
  /** It changes when something is printed. */
  folder: string;
  look(run: number): Glance;
}

export interface WaitOptions {
  any?: boolean | undefined;
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const DAY_MS = 24 * 3600 * 1000;
const RECONCILE_MS = 2000;

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
  const engine = new EmbeddedEngine(paths);
  return new Workspace(
    {
      layout: paths,
      config,
      env,
      cwd,
      registries: new Registries(paths),
      drivers: (file.value as { drivers?: unknown } | undefined)?.drivers,
      headings: (file.value as { headings?: unknown } | undefined)?.headings,
      engine,
      journal: fenced(engine),
      onStep: options.onStep,
    },
    usedFallback,
  );
}

/** What can be said before there is a workspace: is there such a driver, such a program, such a folder? */
export async function checkRun(
  options: StartOptions,
  place: { cwd: string; env: Readonly<Record<string, string | undefined>> },
): Promise<void> {
  const name = options.driver ?? "command";
  // One of midwatch.config.json is checked when the workspace, and so that file, is found.
  const driver = DRIVERS.find((one) => one.name === name);
  if (driver !== undefined) checkStart(options, driver, place.cwd, place.env as NodeJS.ProcessEnv);
  if (wantsWorktree(options)) await findRepository(resolve(place.cwd, options.cwd ?? "."), place.env);
}

export class Workspace {
  readonly root: string;
  readonly config: Config;
  readonly usedFallback: boolean;
  readonly #context: Context;
  readonly #borrowed: boolean;
  #metrics: Metrics | undefined;

  constructor(context: Context, usedFallback = false, borrowed = false) {
    this.#context = context;
    this.#borrowed = borrowed;
    this.root = context.layout.root;
    this.config = context.config;
    this.usedFallback = usedFallback;
  }

  /** The same workspace in the name of a known caller; what is open is shared, and closing this one closes nothing. */
  as(caller: Caller, flags: ConfigInput = {}): Workspace {
    const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
    const config = Object.keys(given).length === 0 ? this.config : loadConfig({ flags: { ...this.config, ...given } });
    return new Workspace({ ...this.#context, caller, config }, this.usedFallback, true);
  }

  async run(options: StartOptions): Promise<RunRecord> {
    const driver = await findDriver(this.#context, options.driver ?? "command");
    const started = await start(this.#context, driver, options);
    return {
      ...recordOf(started.row, started.task),
      ...(started.warning === undefined ? {} : { warning: started.warning }),
      ...(started.problem === undefined ? {} : { error: launchFailed(started).toJSON() }),
    };
  }

  async restart(id: string | undefined, options: RestartOptions = {}): Promise<RunRecord> {
    assertPerson(this.#context, "restart agents");
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context);
    const launched = await restart(this.#context, agent, options);
    const { listed } = locate(this.#context, agent);
    return {
      ...recordOf(launched.row, listed.agent.task),
      ...(launched.problem === undefined ? {} : { error: launchFailed(launched).toJSON() }),
    };
  }

  task(description: string, options: TaskOptions = {}): TaskFact {
    assertPerson(this.#context, "make tasks");
    const fact = taskFact(newTaskId(), description, Date.now(), options);
    putTask(this.#context, fact);
    return fact;
  }

  /** What the agent does now, in its own words; answers with what its peers said lately. */
  progress(id: string | undefined, status: string, message: string, percent?: number): ProgressReport & Peers {
    return reportProgress(this.#context, resolveId(this.#context, id), status, message, percent ?? null);
  }

  finding(
    id: string | undefined,
    type: string,
    severity: FindingReport["severity"],
    message: string,
    data?: unknown,
  ): FindingReport & Peers {
    return reportFinding(this.#context, resolveId(this.#context, id), type, severity, message, data);
  }

  /** A message for an agent, accepted when this returns; `delivered` waits for what becomes of it. */
  async send(id: string | undefined, text: string): Promise<Message> {
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context);
    const { driver } = locate(this.#context, agent).listed.agent;
    return sendMessage(this.#context, agent, text, await findDriver(this.#context, driver));
  }

  /** Until the message is consumed or has failed, no run can take it up any more, or the time is up. */
  async delivered(message: Message, options: Omit<WaitOptions, "any"> = {}): Promise<Message> {
    const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    const readings = new Readings(this.#context);
    for (let pause = 20; ; pause = Math.min(pause * 1.5, 250)) {
      const over = hasEnded(locate(this.#context, message.agent).facts);
      const all = await messagesOf(this.#context, message.agent, readings);
      const now = all.find(({ id }) => id === message.id) ?? message;
      const settled = now.state === "consumed" || now.state === "failed" || over;
      if (settled || performance.now() >= deadline || options.signal?.aborted) return now;
      await sleep(Math.min(pause, Math.max(0, deadline - performance.now())));
    }
  }

  async messages(id?: string): Promise<Message[]> {
    return await messagesOf(this.#context, resolveId(this.#context, id), new Readings(this.#context));
  }

  /** An interactive agent reads what was sent so far, and then the end of its input. */
  async closeInput(id: string | undefined): Promise<AgentId> {
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context);
    closeInput(this.#context, agent);
    return agent;
  }

  /** A tmux window on an agent in this terminal; returns when it is left. The agent has no part in it. */
  attach(id: string | undefined): Promise<Window> {
    return openWindow(this.root, resolveId(this.#context, id), this.#context.env);
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
    const maskers = this.maskers();
    return listed
      .sort((a, b) => compare(b.run.created_at, a.run.created_at) || compare(a.agent.id, b.agent.id))
      .filter(({ agent }) => options.task === undefined || agent.task === options.task)
      .map((entry) => {
        const fresh = observed.get(`${entry.run.agent}.${entry.run.run}`)?.row;
        // The watch's word is in the registry alone; facts do not hold it.
        const run = fresh ? { ...fresh, verdict: entry.run.verdict } : entry.run;
        return maskers.listed(listRecord({ ...entry, run }));
      });
  }

  async show(id?: string): Promise<ShowRecord> {
    const agent = resolveId(this.#context, id);
    const observed = await reconcile(this.#context);
    return await this.#show(agent, observed);
  }

  /** What an agent changed in its worktree, against the commit it began with. */
  diff(id: string | undefined, options: DiffOptions = {}): Promise<WorktreeDiff> {
    return diffWorktree(this.#context, resolveId(this.#context, id), options);
  }

  async #show(agent: AgentId, observed: readonly Observed[]): Promise<ShowRecord> {
    const { layout: paths } = this.#context;
    const { listed, facts } = locate(this.#context, agent);
    const { task } = listed.agent;
    const fresh = observed.find((one) => one.agent === agent && one.run === listed.run.run)?.row;
    const now = fresh ?? (facts.intent ? runRow(paths, task, agent, listed.run.run, facts, true) : listed.run);
    const run = { ...now, verdict: listed.run.verdict };
    const rows = withReader(this.#context, (registry) => registry.runsOf(agent));
    const earlier = (row: RunRow): RunRow => {
      const known = readFacts(paths.run(task, agent, row.run));
      return known.intent ? runRow(paths, task, agent, row.run, known, false) : row;
    };
    return {
      ...this.maskers().listed(listRecord({ agent: listed.agent, run })),
      runs: rows.map((row) => runSummary(row.run === run.run ? run : earlier(row))),
      files: trackedFiles(paths, { task, agent, run: run.run }),
      cleanup_failures: facts.cleanup?.failures ?? [],
      children: this.#below(agent, observed),
      worktree: await worktreeState(this.#context, { task, agent, run: run.run }),
    };
  }

  #below(agent: AgentId, observed: readonly Observed[]): ChildRecord[] {
    return withReader(this.#context, (registry) => registry.children(agent)).map((listed) => {
      const fresh = observed.find((one) => one.agent === listed.agent.id && one.run === listed.run.run)?.row;
      const { phase, outcome, driver, role } = listRecord({ ...listed, run: fresh ?? listed.run });
      return { agent: listed.agent.id, driver, role, phase, outcome, children: this.#below(listed.agent.id, observed) };
    });
  }

  /** Until all (or one) of the agents have ended. What has not when the time is up is returned as it is. */
  async wait(ids: readonly (string | undefined)[], options: WaitOptions = {}): Promise<ShowRecord[]> {
    const agents = ids.map((id) => resolveId(this.#context, id));
    const paths = agents.map((agent) => locate(this.#context, agent).paths);
    const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    const readings = new Readings(this.#context);
    let reconciled = Number.NEGATIVE_INFINITY;
    let pause = 5;
    for (;;) {
      const ended = agents.filter((_, i) => hasEnded(readFacts(paths[i] as RunPaths)));
      const enough = options.any ? ended.length > 0 : ended.length === agents.length;
      if (enough || performance.now() >= deadline || options.signal?.aborted) {
        const observed = await reconcile(this.#context);
        return await Promise.all((options.any && enough ? ended : agents).map((agent) => this.#show(agent, observed)));
      }
      if (performance.now() - reconciled > RECONCILE_MS) {
        const observed = await reconcile(this.#context); // A keeper killed while we wait is taken over.
        await startWaiting(this.#context, observed);
        await closeIdle(this.#context, observed, readings);
        for (const agent of agents) locate(this.#context, agent); // A launch that was given up is not waited for.
        reconciled = performance.now();
      }
      await sleep(Math.min(pause, Math.max(0, deadline - performance.now())));
      pause = Math.min(pause * 1.5, 100);
    }
  }

  stop(ids: readonly (string | undefined)[], options: StopOptions = {}): Promise<Report[]> {
    const agents = [...new Set(ids.map((id) => resolveId(this.#context, id)))];
    assertAbove(this.#context, agents, "stop");
    return stop(this.#context, agents, options);
  }

  /** What the agent printed, line by line. The line's bytes are valid until the next item is asked for. */
  log(id: string | undefined, options: LogOptions = {}): AsyncGenerator<LogItem> {
    return readLog(this.#context, this.#logOf(id, options), options);
  }

  async *logRecords(id: string | undefined, options: LogOptions = {}): AsyncGenerator<LogRecord> {
    for await (const { record } of this.log(id, options)) if (record !== undefined) yield record;
  }

  /** What the agent said and did, as its driver reads the lines. */
  async *activities(id: string | undefined, options: LogOptions = {}, hide?: Maskers): AsyncGenerator<Activity> {
    const { driver: name } = locate(this.#context, resolveId(this.#context, id)).listed.agent;
    const driver = await findDriver(this.#context, name);
    const reader = driver.reader();
    for await (const item of this.log(id, options)) {
      if (item.record?.type === "lifecycle") continue;
      if (driver.json && item.record === undefined) continue;
      const record = hide === undefined ? item.record : hide.record(item);
      const bytes = hide?.line(item) ?? item.raw.bytes;
      yield* reader.read(record?.data !== undefined && driver.json ? record.data : bytes.toString());
    }
  }

  /** Exactly the bytes the agent printed. */
  logBytes(id: string | undefined, options: LogOptions = {}): AsyncGenerator<Uint8Array> {
    return readRaw(this.#context, this.#logOf(id, options), options);
  }

  /** One window of a log. */
  page(id: string | undefined, options: PageOptions & Pick<LogOptions, "run" | "stderr">): Page {
    return readPage(this.#context, this.#logOf(id, options), options, this.maskers());
  }

  /** What happened in a run, and where in its log. */
  async timeline(id: string | undefined, run?: number): Promise<Timeline> {
    const of = this.#logOf(id, { run });
    return await readTimeline(this.#context, of, locate(this.#context, of.agent).listed.agent.driver, this.maskers());
  }

  /** A log for followers that hold their own places: each `look` is at a run as it is on disk now. */
  followed(id: string, options: Pick<LogOptions, "run" | "stderr">): Followed {
    const of = this.#logOf(id, options);
    const hide = this.maskers();
    const folder = this.#context.layout.task(of.task).logs;
    return {
      agent: of.agent,
      run: of.run,
      newest: of.newest,
      folder,
      look: (run) => glance(this.#context, of, run, hide),
    };
  }

  /** All logs of a task as one, by time. */
  logTask(task: TaskId, options: LogOptions = {}): AsyncGenerator<LogItem> {
    const listed = withReader(this.#context, (registry) => registry.list({ all: true, task }));
    return mergeByTime(listed.map(({ agent }) => this.log(agent.id, options)));
  }

  /** What hides secrets in the text of this workspace's agents, wherever it is shown. */
  maskers(): Maskers {
    return new Maskers(this.#context);
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
    assertPerson(this.#context, "archive logs");
    await reconcile(this.#context);
    return archive(this.#context, resolveId(this.#context, id), options.run, options.progress);
  }

  async restore(id: string, options: { run?: number | undefined; progress?: Progress } = {}): Promise<Archived> {
    assertPerson(this.#context, "restore logs");
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

  /** Finishes what nobody finished; with `lost`, ends runs that lost their keeper and live on. */
  reap(options: ReapOptions = {}): Promise<ReapRecord[]> {
    if (options.lost) assertPerson(this.#context, "end lost runs");
    return reap(this.#context, options);
  }

  /** The steps of cleanups that failed and wait for `reap`. */
  failures(): FailureRecord[] {
    return failures(this.#context);
  }

  /** Takes ended agents away, to the trash first. */
  prune(options: PruneOptions = {}): Promise<PruneRecord[]> {
    assertPerson(this.#context, "prune");
    return prune(this.#context, options);
  }

  undoPrune(id?: string): Promise<PruneRecord[]> {
    assertPerson(this.#context, "bring back what was pruned");
    return undoPrune(this.#context, id);
  }

  /** Appends an event; durable when it resolves. */
  event(input: NewEvent): Promise<JournalEvent> {
    return logEvent(this.#context, input);
  }

  /** The journal from a cursor on; "end" is what comes from now on. The cursor behind each event leads to the next. */
  async *eventsFrom(cursor: Cursor | "end" | undefined, signal: AbortSignal): AsyncGenerator<Stored> {
    const { journal } = this.#context;
    const after = cursor === "end" ? await journal.tail(0) : cursor;
    for await (const item of journal.read({ after, follow: true, signal })) if (!("bad" in item)) yield item;
  }

  /** The journal, in its order, as it was read: each event with its place. */
  events(options: EventsOptions = {}): AsyncGenerator<Stored> {
    return readEvents(this.#context, options);
  }

  /** Brings communication.md and archive.md up to date. */
  snapshot(options: { rebuild?: boolean | undefined } = {}): Promise<SnapshotReport> {
    return snapshot(this.#context, options);
  }

  /** For a loop: each call brings them up to date when the journal has changed; one that cannot is done by the next. */
  snapshotRounds(): () => Promise<void> {
    return snapshotRounds(this.#context);
  }

  /** Again and again, whenever the journal has changed. */
  watchSnapshot(signal: AbortSignal): AsyncGenerator<SnapshotReport> {
    return watchSnapshot(this.#context, signal);
  }

  /** Puts the shell scripts of the journal into the project; gives their paths. */
  initScripts(): string[] {
    assertPerson(this.#context, "put scripts into the project");
    return initScripts(this.#context);
  }

  /** The watch, to be asked for rounds: a look at every live agent, and at those that have just ended. */
  watcher(): Watch {
    return new Watch(this.#context);
  }

  /** Again and again: each time the summaries that are new. */
  async *watch(signal: AbortSignal): AsyncGenerator<AgentSummary> {
    using rounds = watchRounds(this.#context);
    while (!signal.aborted) {
      yield* await rounds.next();
      await rounds.wait(signal);
    }
  }

  /** What the watch says of one agent now. */
  async summary(id?: string): Promise<AgentSummary> {
    const agent = resolveId(this.#context, id);
    const [found] = await latestSummaries(this.#context, new Set([agent]));
    return found as AgentSummary;
  }

  /** Of every agent that lives or ended within a day. */
  summaries(): Promise<AgentSummary[]> {
    return latestSummaries(this.#context);
  }

  /** What the watch has stored of a run, without a look at it. */
  storedSummary(agent: AgentId, run: number): AgentSummary | undefined {
    const row = withReader(this.#context, ({ watched }) => watched.summary(agent, run));
    return row?.data as unknown as AgentSummary | undefined;
  }

  /** Places in logs, this workspace's and others. */
  get positions(): Positions {
    return positions(this.#context);
  }

  /** New whole lines of any file; the place is kept under a name when `commit` is called. */
  readFile(reader: string, path: string): Batch & { commit(): void } {
    return readFile(this.#context, parseAgentId(reader), resolve(path));
  }

  /** Tokens and money of runs since then, also of those that were killed or lost. */
  cost(options: { since?: number | undefined; by?: CostBy | undefined } = {}): Promise<CostRecord[]> {
    return costOf(this.#context, options.since ?? 0, options.by ?? "task");
  }

  /** Who leads, as one look can tell. */
  leader(): Promise<Leadership> {
    return leadership(this.#context.engine);
  }

  /** Again whenever it changes. */
  watchLeader(signal: AbortSignal): AsyncGenerator<Leadership> {
    return watchLeadership(this.#context.engine, signal);
  }

  health(): Promise<HealthRecord> {
    return health(this.#context.engine, this.#context.layout, this.#context.config);
  }

  /** Lets those go on that paused after a write error and wait for a person; gives their names. */
  resume(): Promise<string[]> {
    assertPerson(this.#context, "end a pause");
    return resumeAll(this.#context.engine);
  }

  /** The last interaction that an agent handled, null when there is none; with `interaction`, sets it. */
  checkpoint(agent: string, interaction?: number): CheckpointRecord {
    return checkpoint(this.#context, parseAgentId(agent), interaction);
  }

  /** Hands the events to an agent, each at least once and in order, from behind its checkpoint. */
  consume(agent: string, handle: (event: JournalEvent) => unknown, options: ConsumeOptions = {}): Promise<number> {
    const { engine, layout: paths } = this.#context;
    return consume(engine, checkpointFile(paths, parseAgentId(agent)), handle, options);
  }

  /** Figures in the text format of Prometheus; a second look reads only what is new in the journal. */
  metrics(): Promise<string> {
    this.#metrics ??= new Metrics(this.#context);
    return this.#metrics.text();
  }

  /** Opens the HTTP door; made once. */
  httpToken(): string {
    return httpToken(this.#context);
  }

  /** Tells others where a server of this workspace listens; the answer takes that back. */
  announce(url: string): () => void {
    announceServer(this.#context, url);
    return () => withdrawServer(this.#context, url);
  }

  /** The server that began last, if it lives. */
  server(): ServerFact | undefined {
    return announcedServer(this.#context);
  }

  /** The agent whose capability this is. */
  agentOf(id: string, capability: string): AgentId | undefined {
    return agentByCapability(this.#context, id, capability);
  }

  /** Tells the journal who changed what through a door. */
  auditDoor(event: { content: string; agent?: AgentId; data: Record<string, unknown> }): void {
    audit(this.#context, [{ type: "http.change", ...event }]);
  }

  /** What `midwatch up` does: rounds while it leads, standing by while another does. */
  keepHouse(options: HouseOptions): AsyncGenerator<HouseRecord> {
    return keepHouse(this.#context, options);
  }

  /** One round of `midwatch up`. */
  loop(options: { lingerMs?: number } = {}): Loop {
    return new Loop(this.#context, options);
  }

  /** Makes the registry anew from the folders. */
  rebuild(): { tasks: number; agents: number; runs: number } {
    const contents = withWriter(this.#context, (registry) => rebuildFrom(this.#context.layout, registry));
    return { tasks: contents.tasks.length, agents: contents.agents.length, runs: contents.runs.length };
  }

  close(): void {
    if (this.#borrowed) return;
    this.#context.registries.close();
    void this.#context.journal.close().catch(() => undefined); // What was acknowledged is on the disk already.
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
function recordOf(row: RunRow, task: string): RunRecord {
  const { agent, run, log, pid, keeper_pid, guarantee } = row;
  const started = row.phase === "launch_failed" || pid === null ? "launch_failed" : "running";
  return { agent, task, run, phase: row.queued ? "intended" : started, log, pid, keeper_pid, guarantee };
}
