/**
 * The life of agents, from start to proof of their end: `start` → `compose` (what is executed) → `launch` (reserve, folders, intent, keeper);
 * `reconcile` brings the registry in line with facts and kernel before anything is told; `stop` → keeper → proof → `files/cleanup` → Report.
 * Everything here can be killed at any moment: what is true is on disk, and whoever comes next goes on.
 */

import { isToBeWatched } from "../budget/watched.ts";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, newTaskId, type TaskId } from "../core/ids.ts";
import type { TaskClaim, TaskFact } from "../core/intent.ts";
import type { ListRecord, Report, ShowRecord } from "../core/types.ts";
import { readFacts } from "../facts/facts.ts";
import { locate, resolveId } from "../facts/locate.ts";
import { openWindow, type Window } from "../process/window.ts";
import { grant, readsAll } from "../run/above.ts";
import { type ClaimOptions, claimTask, heldClaims } from "../run/claims/claims.ts";
import type { Launched } from "../run/launch.ts";
import type { StartOptions } from "../run/launch-plan.ts";
import { type ListOptions, list, show } from "../run/list.ts";
import { type FailureRecord, failures, type ReapOptions, type ReapRecord, reap } from "../run/reap.ts";
import { reconcile } from "../run/reconcile.ts";
import { type RestartOptions, restart } from "../run/restart.ts";
import { type RunRecord, runRecord } from "../run/run-record.ts";
import { putTask, start, type TaskOptions, taskFact } from "../run/start.ts";
import { type StopOptions, stop } from "../run/stop.ts";
import { type WaitOptions, wait } from "../run/wait.ts";
import { assertAbove, assertPerson } from "../workspace/caller.ts";
import { callCompanion, companionOf, isCompanion } from "../workspace/companion.ts";
import { withReader } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { type DiffOptions, diffWorktree, type WorktreeDiff } from "../worktree/worktree-diff.ts";
import { HoldsContext } from "./holds-context.ts";

export class Runs extends HoldsContext {
  /** Starts an agent; returns when it runs, or waits for its turn (`queue`). */
  async start(options: StartOptions): Promise<RunRecord> {
    const granted = grant(this.acting, options);
    const driver = await findDriver(this.priced, options.driver ?? "command");
    const started = await start(this.context, driver, granted).catch(async (error: unknown) => {
      if (!(error instanceof MidwatchError && error.code === "REFUSED_LIMIT" && error.retryable)) throw error;
      await reconcile(this.context); // Those that ended while nobody looked were counted as live.
      return await start(this.context, driver, granted);
    });
    return await this.#watched(started, started.task);
  }

  /** Starts an agent that has ended once more, as its next run. */
  async restart(id: string | undefined, options: RestartOptions = {}): Promise<RunRecord> {
    assertPerson(this.acting, "restart agents");
    const agent = resolveId(this.context, id);
    await reconcile(this.context, { of: [agent] });
    const launched = await restart(this.priced, agent, options);
    return await this.#watched(launched, locate(this.context, agent).listed.agent.task);
  }

  /** What begins has somebody who watches it, where it needs that. */
  async #watched(launched: Launched, task: TaskId): Promise<RunRecord> {
    const { agent, run, queued } = launched.row;
    const { intent } = readFacts(this.context.layout.run(task, agent, run));
    const lives = launched.problem === undefined && intent !== undefined;
    if (lives && isToBeWatched(this.context, intent, queued === 1)) await callCompanion(this.context);
    return runRecord(launched, task);
  }

  /** Ends every process of the agents and reports what ended, what is left and what proves it. One that has ended is no error. */
  stop(ids: readonly (string | undefined)[], options: StopOptions = {}): Promise<Report[]> {
    const agents = [...new Set(ids.map((id) => resolveId(this.acting, id)))];
    assertAbove(this.context, agents, "stop");
    const { stop_files: usual } = this.context.config;
    const files = options.files ?? (usual === "auto" ? "keep" : usual);
    return stop(this.context, agents, { ...options, files });
  }

  /** Whether one of these is the companion, which comes back while a run needs it. */
  hasCompanion(agents: readonly AgentId[]): boolean {
    return agents.some((agent) => isCompanion(this.context, agent));
  }

  /** Until all (or one) of the agents have ended. What has not when the time is up is returned as it is. */
  async wait(ids: readonly (string | undefined)[], options: WaitOptions = {}): Promise<ShowRecord[]> {
    const agents = ids.map((id) => resolveId(this.context, id));
    return await wait(this.context, agents, options);
  }

  /** Newest first: those that live or ended within a day, or all. */
  list(options: ListOptions = {}): Promise<ListRecord[]> {
    return list(this.context, options);
  }

  /** Everything about an agent: its runs, files, children and worktree. */
  async show(id?: string): Promise<ShowRecord> {
    const agent = resolveId(this.context, id);
    const observed = await reconcile(this.context, { of: [agent] });
    return await show(this.context, agent, observed);
  }

  /** The whole id of an agent; throws when the text names none, or several. */
  resolve(id: string | undefined): AgentId {
    return resolveId(this.context, id);
  }

  /** Agents whose id begins so, for a shell that completes. Looks only; nothing is brought up to date. */
  ids(prefix: string, most: number): AgentId[] {
    return withReader(this.context, (registry) => registry.findByPrefix(prefix, most));
  }

  /** Finishes what nobody finished; with `lost`, ends runs that lost their keeper and live on. */
  reap(options: ReapOptions = {}): Promise<ReapRecord[]> {
    if (options.lost) assertPerson(this.context, "end lost runs");
    return reap(options.dryRun ? this.context : this.acting, options);
  }

  /** The steps of cleanups that failed and wait for `reap`. */
  failures(): FailureRecord[] {
    return failures(this.context);
  }

  /** A tmux window on an agent in this terminal; returns when it is left, which the signal does too. The agent has no part in it. */
  attach(id: string | undefined, signal?: AbortSignal): Promise<Window> {
    return openWindow(this.context.layout.root, resolveId(this.context, id), this.context.env, signal);
  }

  /** Whether who asks may have files read by their paths: a person, or an agent that may do everything. */
  mayNameFiles(): boolean {
    return readsAll(this.context);
  }

  /** Where an agent works; undefined when there is no such agent. */
  folderOf(agent: AgentId): string | undefined {
    return locate(this.context, agent).facts.intent?.cwd;
  }

  /** What an agent changed in its worktree, against the commit it began with. */
  diff(id: string | undefined, options: DiffOptions = {}): Promise<WorktreeDiff> {
    return diffWorktree(this.acting, resolveId(this.context, id), options);
  }

  /** A goal that agents can be started for (`task` of their options). */
  makeTask(description: string, options: TaskOptions = {}): TaskFact {
    assertPerson(this.acting, "make tasks");
    const fact = taskFact(newTaskId(), description, Date.now(), options);
    putTask(this.context, fact);
    return fact;
  }

  /** Claims a task, so that no two agents do the same: for the agent that asks, while its run lives, or for a person. Refused while it is another's. */
  claim(task: TaskId | undefined, options: ClaimOptions = {}): Promise<TaskClaim> {
    return claimTask(this.acting, task, options);
  }

  /** The claims that count now. */
  claims(): Promise<TaskClaim[]> {
    return heldClaims(this.context);
  }

  /** Every task of the workspace but its companion's. */
  tasks(): TaskFact[] {
    const hidden = companionOf(this.context)?.task;
    const rows = withReader(this.context, (registry) => registry.tasks());
    return rows.filter(({ id }) => id !== hidden).map(({ data }) => data as unknown as TaskFact);
  }
}
