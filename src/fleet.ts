/** The composition root: one object over one workspace. Every door and the library do everything through it. */
export type { AgentSummary } from "./core/summary.ts";

import { resolve } from "node:path";
import type { RouteStatus } from "./alert/state.ts";
import { type Config, type ConfigInput, loadConfig } from "./core/config/config.ts";
import { MidwatchError } from "./core/errors.ts";
import { type AgentId, newTaskId, parseAgentId, type TaskId } from "./core/ids.ts";
import type { TaskFact } from "./core/intent.ts";
import type { Progress } from "./core/progress.ts";
import type { AgentSummary } from "./core/summary.ts";
import type { ListRecord, Message, Report, ShowRecord } from "./core/types.ts";
import type { Activity } from "./drivers/index.ts";
import { rebuildFrom } from "./facts/folders.ts";
import { locate, resolveId } from "./facts/locate.ts";
import { type Archived, archive, restore } from "./files/archive.ts";
import { type PruneOptions, type PruneRecord, prune, undoPrune } from "./files/prune.ts";
import { checkpointFile } from "./journal/checkpoint.ts";
import { type ConsumeOptions, consume } from "./journal/consume.ts";
import type { Cursor, Stored } from "./journal/engine.ts";
import type { JournalEvent } from "./journal/event.ts";
import type { HealthRecord } from "./journal/health.ts";
import type { EventsOptions } from "./journal/journal.ts";
import { type Leadership, leadership, watchLeadership } from "./journal/leader.ts";
import { resumeAll } from "./journal/pause.ts";
import type { SnapshotReport } from "./journal/snapshot/project.ts";
import { mergeByTime } from "./log/merge.ts";
import type { LogRecord } from "./log/record.ts";
import type { Verified } from "./log/verify.ts";
import { type CheckpointRecord, checkpoint } from "./messages/checkpoint.ts";
import {
  initScripts,
  logEvent,
  type NewEvent,
  readEvents,
  snapshot,
  snapshotRounds,
  watchSnapshot,
} from "./messages/journal.ts";
import { closeInput, messagesOf, sendMessage } from "./messages/messages.ts";
import {
  type FindingReport,
  type Peers,
  type ProgressReport,
  type Reports,
  recentReports,
  reportFinding,
  reportProgress,
} from "./messages/report.ts";
import type { Question } from "./nats/ask.ts";
import { FleetLink } from "./nats/link.ts";
import { type OpenOptions, open } from "./open.ts";
import { openWindow, type Window } from "./process/window.ts";
import { type ListOptions, list, show } from "./run/list.ts";
import { type FailureRecord, failures, type ReapOptions, type ReapRecord, reap } from "./run/reap.ts";
import { reconcile } from "./run/reconcile.ts";
import { type RestartOptions, restart } from "./run/restart.ts";
import { type RunRecord, runRecord } from "./run/run-record.ts";
import { putTask, type StartOptions, start, type TaskOptions, taskFact } from "./run/start.ts";
import { type StopOptions, stop } from "./run/stop.ts";
import { delivered, type WaitOptions, wait } from "./run/wait.ts";
import { activities } from "./stream/activities.ts";
import { logOf, verifyLog } from "./stream/log-of.ts";
import { Maskers } from "./stream/maskers.ts";
import { type Glance, glance, type Page, type PageOptions, readPage } from "./stream/page.ts";
import { type LogItem, type LogOf, type LogOptions, readLog, readRaw } from "./stream/read.ts";
import { Readings } from "./stream/readings.ts";
import { type SearchHit, type SearchOptions, searchLogs } from "./stream/search.ts";
import { readTimeline, type Timeline } from "./stream/timeline.ts";
import type { SyncStatus } from "./sync/state.ts";
import { type AlertHealth, type AlertTest, alertStatus, checkAlerts, healthOf, testAlert } from "./up/alerts.ts";
import { type HouseOptions, type HouseRecord, keepHouse } from "./up/house.ts";
import { answerFleet, hostName, hubSettings, type JoinCall } from "./up/join.ts";
import { Loop } from "./up/loop.ts";
import { Metrics } from "./up/metrics.ts";
import { statusOf, sync, watchSync, withSync } from "./up/sync.ts";
import { initSync } from "./up/sync-init.ts";
import { type Needs, needs } from "./watch/attention.ts";
import type { CostBy, CostRecord } from "./watch/cost.ts";
import { costOf } from "./watch/cost-of.ts";
import type { Batch } from "./watch/file-reader.ts";
import { HeldFiles } from "./watch/held-files.ts";
import { latestSummaries, type Positions, positions, readFile } from "./watch/summaries.ts";
import { Watch } from "./watch/watch.ts";
import { watchRounds } from "./watch/watch-rounds.ts";
import { audit } from "./workspace/audit.ts";
import { agentByCapability, assertAbove, assertPerson, callingAgent } from "./workspace/caller.ts";
import { type Caller, type Context, catchUp, withReader, withWriter } from "./workspace/context.ts";
import { findDriver } from "./workspace/find-driver.ts";
import {
  announcedServer,
  announceServer,
  httpToken,
  loginLink,
  type ServerFact,
  withdrawServer,
} from "./workspace/http-files.ts";
import { type DiffOptions, diffWorktree, type WorktreeDiff } from "./worktree/worktree-diff.ts";

export type { Activity } from "./drivers/index.ts";
export type { Archived } from "./files/archive.ts";
export type { PruneOptions, PruneRecord } from "./files/prune.ts";
export type { Stored } from "./journal/engine.ts";
export type { JournalEvent } from "./journal/event.ts";
export type { HealthRecord } from "./journal/health.ts";
export type { Leadership } from "./journal/leader.ts";
export type { LogRecord } from "./log/record.ts";
export type { CheckpointRecord } from "./messages/checkpoint.ts";
export type { Question } from "./nats/ask.ts";
export { type HostRecord, place, type Wish } from "./nats/host.ts";
export type { FleetLink, FleetRecord } from "./nats/link.ts";
export type { OpenOptions } from "./open.ts";
export { checkRun } from "./run/check-run.ts";
export type { FailureRecord, ReapOptions, ReapRecord } from "./run/reap.ts";
export type { RunRecord } from "./run/run-record.ts";
export type { WaitOptions } from "./run/wait.ts";
export type { Glance, Page } from "./stream/page.ts";
export type { LogItem, LogOptions } from "./stream/read.ts";
export type { SyncStatus } from "./sync/state.ts";
export type { HouseOptions, HouseRecord } from "./up/house.ts";
export { readShipped } from "./up/ship-logs.ts";
export type { Caller } from "./workspace/context.ts";
export type { ServerFact } from "./workspace/http-files.ts";

export interface Followed {
  agent: AgentId;
  run: number;
  newest: number;
  /** It changes when something is printed. */
  folder: string;
  look(run: number): Glance;
}

export function openWorkspace(options: OpenOptions = {}): Workspace {
  const { context, usedFallback } = open(options);
  return new Workspace(context, usedFallback);
}

/** The fleet that the configuration names; without a workspace too, for people who only look. */
export function openFleet(config: Config, folder: string, workspace?: Workspace): Promise<FleetLink> {
  const name = workspace?.hostName() ?? "cli";
  return FleetLink.open(hubSettings(config, folder, name), config.nats_fleet, name);
}

export class Workspace {
  readonly root: string;
  readonly config: Config;
  readonly usedFallback: boolean;
  readonly #context: Context;
  readonly #borrowed: boolean;
  readonly #files = new HeldFiles();
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

  /** Who asks, as far as processes above us and the environment tell. */
  caller(): Caller {
    return { agent: callingAgent(this.#context) };
  }

  /** Where an agent works; undefined when there is no such agent. */
  folderOf(agent: AgentId): string | undefined {
    return locate(this.#context, agent).facts.intent?.cwd;
  }

  async run(options: StartOptions): Promise<RunRecord> {
    const driver = await findDriver(this.#context, options.driver ?? "command");
    const started = await start(this.#context, driver, options).catch(async (error: unknown) => {
      if (!(error instanceof MidwatchError && error.code === "REFUSED_LIMIT" && error.retryable)) throw error;
      await reconcile(this.#context); // Those that ended while nobody looked were counted as live.
      return await start(this.#context, driver, options);
    });
    return runRecord(started, started.task);
  }

  async restart(id: string | undefined, options: RestartOptions = {}): Promise<RunRecord> {
    assertPerson(this.#context, "restart agents");
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context, { of: [agent] });
    const launched = await restart(this.#context, agent, options);
    return runRecord(launched, locate(this.#context, agent).listed.agent.task);
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

  /** What the agents of a task reported lately, newest first. */
  reports(task: TaskId, most: number): Reports {
    return recentReports(this.#context, task, most);
  }

  /** A message for an agent, accepted when this returns; `delivered` waits for what becomes of it. */
  async send(id: string | undefined, text: string): Promise<Message> {
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context, { of: [agent] });
    const { driver } = locate(this.#context, agent).listed.agent;
    return sendMessage(this.#context, agent, text, await findDriver(this.#context, driver));
  }

  /** Until the message is consumed or has failed, no run can take it up any more, or the time is up. */
  delivered(message: Message, options: Omit<WaitOptions, "any"> = {}): Promise<Message> {
    return delivered(this.#context, message, options);
  }

  async messages(id?: string): Promise<Message[]> {
    return await messagesOf(this.#context, resolveId(this.#context, id), new Readings(this.#context));
  }

  /** An interactive agent reads what was sent so far, and then the end of its input. */
  async closeInput(id: string | undefined): Promise<AgentId> {
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context, { of: [agent] });
    closeInput(this.#context, agent);
    return agent;
  }

  /** A tmux window on an agent in this terminal; returns when it is left, which the signal does too. The agent has no part in it. */
  attach(id: string | undefined, signal?: AbortSignal): Promise<Window> {
    return openWindow(this.root, resolveId(this.#context, id), this.#context.env, signal);
  }

  tasks(): TaskFact[] {
    return withReader(this.#context, (registry) => registry.tasks().map(({ data }) => data as unknown as TaskFact));
  }

  /** Agents whose id begins so, for a shell that completes. Looks only; nothing is brought up to date. */
  ids(prefix: string, most: number): AgentId[] {
    return withReader(this.#context, (registry) => registry.findByPrefix(prefix, most));
  }

  /** Newest first: those that live or ended within a day, or all. */
  list(options: ListOptions = {}): Promise<ListRecord[]> {
    return list(this.#context, options);
  }

  /** Who needs a person now; looks at the logs of all that live. `onLeft` as in a list. */
  attention(onLeft?: (count: number) => void): Promise<Needs> {
    return needs(this.#context, onLeft);
  }

  async show(id?: string): Promise<ShowRecord> {
    const agent = resolveId(this.#context, id);
    const observed = await reconcile(this.#context, { of: [agent] });
    return await show(this.#context, agent, observed);
  }

  /** What an agent changed in its worktree, against the commit it began with. */
  diff(id: string | undefined, options: DiffOptions = {}): Promise<WorktreeDiff> {
    return diffWorktree(this.#context, resolveId(this.#context, id), options);
  }

  /** Until all (or one) of the agents have ended. What has not when the time is up is returned as it is. */
  async wait(ids: readonly (string | undefined)[], options: WaitOptions = {}): Promise<ShowRecord[]> {
    const agents = ids.map((id) => resolveId(this.#context, id));
    return await wait(this.#context, agents, options);
  }

  /** The whole id of an agent; throws when the text names none, or several. */
  resolve(id: string | undefined): AgentId {
    return resolveId(this.#context, id);
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
  activities(id: string | undefined, options: LogOptions = {}, hide?: Maskers): AsyncGenerator<Activity> {
    return activities(this.#context, resolveId(this.#context, id), options, hide);
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
    return await verifyLog(this.#context, this.#logOf(id, options), options.progress);
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
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context, { of: [agent] });
    return archive(this.#context, agent, options.run, options.progress);
  }

  async restore(id: string, options: { run?: number | undefined; progress?: Progress } = {}): Promise<Archived> {
    assertPerson(this.#context, "restore logs");
    const agent = resolveId(this.#context, id);
    await reconcile(this.#context, { of: [agent] });
    return await restore(this.#context, agent, options.run, options.progress);
  }

  #logOf(id: string | undefined, options: LogOptions): LogOf {
    return logOf(this.#context, resolveId(this.#context, id), options);
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

  /** Again and again: each time the summaries that are new. `tell` hears why no model is asked, where one is configured. */
  async *watch(signal: AbortSignal, tell: (text: string) => void = () => undefined): AsyncGenerator<AgentSummary> {
    using rounds = watchRounds(this.#context, tell);
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
    return readFile(this.#context, this.#files, parseAgentId(reader), resolve(path));
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

  async health(): Promise<HealthRecord & { sync: SyncStatus | null; alerts: AlertHealth }> {
    return await withSync(this.#context, await healthOf(this.#context));
  }

  /** Exchanges events with the remote, once; retries and faults are in the status. */
  async sync(options: { signal?: AbortSignal | undefined; tell?(text: string): void } = {}): Promise<SyncStatus> {
    assertPerson(this.#context, "sync the journal");
    return await sync(this.#context, { tell: () => undefined, ...options });
  }

  /** Again and again; told whenever something has changed. */
  async *watchSync(options: { signal: AbortSignal; tell(text: string): void }): AsyncGenerator<SyncStatus> {
    assertPerson(this.#context, "sync the journal");
    yield* watchSync(this.#context, options);
  }

  /** Undefined when this workspace was never synced. */
  syncStatus(): Promise<SyncStatus | undefined> {
    return statusOf(this.#context);
  }

  /** Sets up what sync needs: a repository, a remote, the base files. */
  async initSync(tell: (text: string) => void): Promise<void> {
    assertPerson(this.#context, "set up sync");
    await initSync(this.#context, tell);
  }

  /** Sends one message on a route, at once. */
  testAlert(route: string, options: Parameters<typeof testAlert>[2]): Promise<AlertTest> {
    assertPerson(this.#context, "send alerts");
    return testAlert(this.#context, route, options);
  }

  /** How each route fares. */
  alertStatus(): Promise<RouteStatus[]> {
    return alertStatus(this.#context);
  }

  /** Throws BAD_CONFIG when `alerts` of the configuration cannot work. */
  checkAlerts(): ReturnType<typeof checkAlerts> {
    return checkAlerts(this.#context);
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

  /** Whether a person asks, and no agent. */
  isPersons(): boolean {
    return callingAgent(this.#context) === undefined;
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

  /** Tells others where a server of this workspace listens; the answer takes that back. From now on no write waits for long. */
  announce(url: string, lockMs: number): () => void {
    this.#context.registries.hurry(lockMs);
    announceServer(this.#context, url);
    return () => withdrawServer(this.#context, url);
  }

  /** The server that began last, if it lives. */
  server(): ServerFact | undefined {
    return announcedServer(this.#context);
  }

  /** A new link to the page of the server that runs; good once. */
  loginLink(): Promise<string> {
    return loginLink(this.#context);
  }

  /** The agent whose capability this is. */
  agentOf(id: string, capability: string): AgentId | undefined {
    return agentByCapability(this.#context, id, capability);
  }

  /** Tells the journal who changed what through a door. */
  auditDoor(
    event: { content: string; agent?: AgentId; data: Record<string, unknown> },
    type: "http.change" | "fleet.change" = "http.change",
  ): void {
    audit(this.#context, [{ type, ...event }]);
  }

  /** What this workspace is called in its fleet. */
  hostName(): string {
    return hostName(this.#context);
  }

  /** Answers what other hosts of the fleet ask of this one, until the signal. */
  answerFleet(call: JoinCall, handle: (question: Question) => Promise<unknown>): Promise<void> {
    return answerFleet(this.#context, call, handle);
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
    this.#files[Symbol.dispose]();
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
