/**
 * What agents printed: one run's log is opened (`run-log`), followed, paged and searched by its index, never loaded whole, and what
 * leaves is masked (`maskers`). How a run's stream is understood is its driver's; `stream-state` keeps what was understood.
 */
import type { AgentId, TaskId } from "../core/ids.ts";
import type { Progress } from "../core/progress.ts";
import type { Activity } from "../drivers/index.ts";
import { locate, resolveId } from "../facts/locate.ts";
import { mergeByTime } from "../log/merge.ts";
import type { LogRecord } from "../log/record.ts";
import { activities } from "../stream/activities.ts";
import { type LogOf, logOf, type VerifiedRun, verifyLog } from "../stream/log-of.ts";
import { Maskers } from "../stream/maskers.ts";
import { type Page, type PageOptions, readPage, SharedLog } from "../stream/page.ts";
import { type LogItem, type LogOptions, readLog, readRaw } from "../stream/read.ts";
import { type SearchHit, type SearchOptions, searchLogs } from "../stream/search.ts";
import { readTimeline, type Timeline } from "../stream/timeline.ts";
import { withReader } from "../workspace/context.ts";
import { HoldsContext } from "./holds-context.ts";

export interface Followed {
  agent: AgentId;
  run: number;
  newest: number;
  share(run: number): SharedLog;
}

export class Logs extends HoldsContext {
  /** What the agent printed, line by line. The line's bytes are valid until the next item is asked for. */
  read(id: string | undefined, options: LogOptions = {}): AsyncGenerator<LogItem> {
    return readLog(this.context, this.#logOf(id, options), options);
  }

  /** The same as records, which can be kept; empty lines give none. Nothing is masked. */
  async *records(id: string | undefined, options: LogOptions = {}): AsyncGenerator<LogRecord> {
    for await (const { record } of this.read(id, options)) if (record !== undefined) yield record;
  }

  /** What the agent said and did, as its driver reads the lines. */
  activities(id: string | undefined, options: LogOptions = {}, hide?: Maskers): AsyncGenerator<Activity> {
    return activities(this.context, resolveId(this.context, id), options, hide);
  }

  /** Exactly the bytes the agent printed. */
  bytes(id: string | undefined, options: LogOptions = {}): AsyncGenerator<Uint8Array> {
    return readRaw(this.context, this.#logOf(id, options), options);
  }

  /** One window of a log. */
  page(id: string | undefined, options: PageOptions & Pick<LogOptions, "run" | "stderr">): Page {
    return readPage(this.context, this.#logOf(id, options), options, this.maskers());
  }

  /** What happened in a run, and where in its log. */
  async timeline(id: string | undefined, run?: number): Promise<Timeline> {
    const of = this.#logOf(id, { run });
    return await readTimeline(this.context, of, locate(this.context, of.agent).listed.agent.driver, this.maskers());
  }

  /** An agent's log for followers that hold their own places. */
  followed(id: string, options: Pick<LogOptions, "run" | "stderr">): Followed {
    const of = this.#logOf(id, options);
    const hide = this.maskers();
    const { agent, run, newest } = of;
    return { agent, run, newest, share: (other) => new SharedLog(this.context, { ...of, run: other }, hide) };
  }

  /** All logs of a task as one, by time. */
  ofTask(task: TaskId, options: LogOptions = {}): AsyncGenerator<LogItem> {
    const listed = withReader(this.context, (registry) => registry.list({ all: true, task }));
    return mergeByTime(listed.map(({ agent }) => this.read(agent.id, options)));
  }

  /** What hides secrets in the text of this workspace's agents, wherever it is shown. */
  maskers(): Maskers {
    return new Maskers(this.context);
  }

  /** Reads all of a log and says which lines are damaged, and whether its index is right. */
  async verify(
    id: string | undefined,
    options: { run?: number | undefined; progress?: Progress } = {},
  ): Promise<VerifiedRun> {
    return await verifyLog(this.context, this.#logOf(id, options), options.progress);
  }

  /** Lines that hold the text, in every log of the workspace or those that the options name, archived ones too. */
  search(
    text: string,
    options: Omit<SearchOptions, "agent"> & { agent?: string | undefined } = {},
  ): AsyncGenerator<SearchHit> {
    const agent = options.agent === undefined ? undefined : resolveId(this.context, options.agent);
    return searchLogs(this.context, text, { ...options, agent });
  }

  #logOf(id: string | undefined, options: LogOptions): LogOf {
    return logOf(this.context, resolveId(this.context, id), options);
  }
}
