/**
 * All agents as they are now, made once for everybody who asks or follows. It is brought up to date at most once in a while, in the
 * background while somebody looks; what was changed through this door is seen by the next who asks.
 */
import type { AgentId } from "../../core/ids.ts";
import type { ListRecord } from "../../core/types.ts";
import type { AgentSummary, Workspace } from "../../fleet/workspace.ts";
import type { Limits } from "./limits.ts";

const FRESH_MS = 1000;
/** Nobody has asked for so long: the next one waits for a look. */
const STALE_MS = 3000;
/** Agents that have gone are told to followers that were here; who was away longer gets everything. */
const GONE_MOST = 1000;

interface FeedEntry {
  record: string;
  /** The record with what followers get beside it. */
  item: string;
  version: number;
  bytes: number;
  rate: number;
}

export class FleetFeed {
  readonly #workspace: Workspace;
  readonly #limits: Limits;
  readonly #entries = new Map<AgentId, FeedEntry>();
  readonly #gone = new Map<AgentId, number>();
  readonly #followers = new Set<() => void>();
  readonly #finals = new Map<string, AgentSummary>();
  #version = 0;
  #goneBefore = 0;
  #list: Uint8Array<ArrayBuffer> | undefined;
  #whole: { version: number; items: Buffer } | undefined;
  #at = Number.NEGATIVE_INFINITY;
  #dirty = true;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(workspace: Workspace, limits: Limits) {
    this.#workspace = workspace;
    this.#limits = limits;
  }

  /** What is kept is old. */
  changed(): void {
    this.#dirty = true;
    if (this.#followers.size > 0) void this.#look().catch(() => undefined);
  }

  /** `{"items":[...],"truncated":...}` of `ls`. */
  async listed(): Promise<Uint8Array<ArrayBuffer>> {
    const age = performance.now() - this.#at;
    if (this.#dirty || age > STALE_MS) await this.#look();
    else if (age > FRESH_MS) void this.#look().catch(() => undefined);
    const { answerItems } = this.#limits;
    this.#list ??= new TextEncoder().encode(
      `{"items":[${[...this.#entries.values()]
        .slice(0, answerItems)
        .map(({ record }) => record)
        .join(",")}],"truncated":${this.#entries.size > answerItems}}`,
    ) as Uint8Array<ArrayBuffer>;
    return this.#list;
  }

  /** Calls `wake` when there is news, until the answer is called. */
  follow(wake: () => void): () => void {
    this.#followers.add(wake);
    this.#tick();
    return () => this.#followers.delete(wake);
  }

  /** What is new since a version, as the inside of a JSON list; undefined when nothing is. 0 is everything. */
  since(version: number): { items: Buffer; version: number; whole: boolean } | undefined {
    if (this.#at === Number.NEGATIVE_INFINITY || version === this.#version) return undefined;
    if (version < this.#goneBefore || version === 0) {
      if (this.#whole?.version !== this.#version)
        this.#whole = { version: this.#version, items: join([...this.#entries.values()].map(({ item }) => item)) };
      return { items: this.#whole.items, version: this.#version, whole: true };
    }
    const items = [...this.#entries.values()].filter((entry) => entry.version > version).map(({ item }) => item);
    for (const [agent, at] of this.#gone) if (at > version) items.push(JSON.stringify({ agent, gone: true }));
    return { items: join(items), version: this.#version, whole: false };
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#followers.clear();
  }

  /** While somebody follows. */
  #tick(): void {
    if (this.#timer !== undefined || this.#followers.size === 0) return;
    const pause = Math.max(0, FRESH_MS - (performance.now() - this.#at));
    this.#timer = setTimeout(async () => {
      await this.#look().catch(() => undefined); // A disk that cannot be read now: the next look tells.
      this.#timer = undefined;
      this.#tick();
    }, pause);
  }

  /** One look at a time; whoever changed something waits for one that began afterwards. */
  async #look(): Promise<void> {
    if (this.#looking !== undefined) {
      await this.#looking.catch(() => undefined);
      if (!this.#dirty) return;
    }
    this.#looking ??= this.#refresh().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  async #refresh(): Promise<void> {
    this.#dirty = false;
    const begun = performance.now();
    const records = await this.#workspace.runs.list();
    const seconds = (begun - this.#at) / 1000;
    const version = this.#version + 1;
    let news = this.#at === Number.NEGATIVE_INFINITY;
    const before = new Map(this.#entries);
    this.#entries.clear();
    for (const record of records) {
      const entry = this.#entryOf(record, before.get(record.agent), seconds, version);
      news ||= entry.version === version;
      this.#entries.set(record.agent, entry);
      before.delete(record.agent);
      this.#gone.delete(record.agent);
    }
    for (const agent of before.keys()) this.#gone.set(agent, version);
    news ||= before.size > 0;
    for (const [agent, at] of this.#gone) {
      if (this.#gone.size <= GONE_MOST) break;
      this.#gone.delete(agent);
      this.#goneBefore = at;
    }
    this.#at = performance.now();
    if (!news) return;
    this.#version = version;
    this.#list = undefined;
    for (const wake of this.#followers) wake();
  }

  #entryOf(record: ListRecord, before: FeedEntry | undefined, seconds: number, version: number): FeedEntry {
    const text = JSON.stringify(record);
    const rate = before === undefined ? 0 : Math.max(0, Math.round((record.bytes - before.bytes) / seconds));
    const summary = this.#summaryOf(record);
    const more = JSON.stringify({ now: summary?.current_activity ?? null, summary: summary && brief(summary), rate });
    const item = `${text.slice(0, -1)},${more.slice(1)}`;
    if (before?.item === item) return before;
    return { record: text, item, version, bytes: record.bytes, rate };
  }

  /** A final one stays as it is: it is read once. */
  #summaryOf({ agent, run }: ListRecord): AgentSummary | undefined {
    const key = `${agent}.${run}`;
    const known = this.#finals.get(key);
    if (known !== undefined) return known;
    const summary = this.#workspace.verdicts.stored(agent, run);
    if (summary?.final) this.#finals.set(key, summary);
    return summary;
  }
}

/** The inside of a JSON list. */
function join(items: readonly string[]): Buffer {
  return Buffer.from(items.join(","));
}

/** The verdict with what a list shows of it. */
function brief(summary: AgentSummary): object {
  const { on_track_status, confidence_score, level, cause, resets_at, since, drift_reasons } = summary;
  const { recommended_action, last_tool_used, idle_duration_seconds, tools, tokens, cost_usd, cost_estimated } =
    summary;
  return {
    on_track_status,
    confidence_score,
    level,
    cause,
    resets_at,
    since,
    drift_reasons,
    recommended_action,
    last_tool_used,
    idle_duration_seconds,
    tools,
    tokens,
    cost_usd,
    cost_estimated,
  };
}
