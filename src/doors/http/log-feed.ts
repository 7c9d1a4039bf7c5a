/**
 * One run's log for all who follow it. A look at the disk serves them all, and so does a batch that was read: each follower only has
 * its place. Nothing is kept for one that is slow; it reads on from the disk when it can take more.
 */
import { type FSWatcher, watch } from "node:fs";
import type { Followed, Glance } from "../../fleet/workspace.ts";
import type { Limits } from "./limits.ts";

export interface LogPlace {
  offset: number;
  line: number | null;
}

interface Batch {
  /** The inside of a JSON list, as bytes: made once, sent to many. */
  items: Buffer;
  next: LogPlace;
}

/** A watch may miss something: this often it looks by itself. */
const POLL_MS = 250;
/** What comes in a burst is read together; the more logs there are, the longer. */
const GATHER_MS = 20;
const GATHER_EACH_MS = 2;
const KEPT = 4;

/** The feeds that somebody follows. */
export class LogFeeds {
  readonly #feeds = new Map<string, LogFeed>();
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  follow(log: Followed, run: number, stderr: boolean, wake: () => void): { feed: LogFeed; end: () => void } {
    const key = `${log.agent}.${run}${stderr ? ".stderr" : ""}`;
    const feed = this.#feeds.get(key) ?? new LogFeed(log, run, this.#limits, () => this.#feeds.size);
    this.#feeds.set(key, feed);
    // Not `wake` itself: one client may follow the same log twice.
    const follower = (): void => wake();
    feed.followers.add(follower);
    const end = (): void => {
      // The second time there is nothing to end: the feed may be another's by now.
      if (!feed.followers.delete(follower) || feed.followers.size > 0) return;
      feed.close();
      this.#feeds.delete(key);
    };
    return { feed, end };
  }
}

export class LogFeed {
  readonly followers: Set<() => void> = new Set();
  readonly #log: Followed;
  readonly #run: number;
  readonly #limits: Limits;
  readonly #count: () => number;
  readonly #batches = new Map<number, Batch>();
  #glance: Glance;
  #watcher: FSWatcher | undefined;
  #poll: NodeJS.Timeout | undefined;
  #gather: NodeJS.Timeout | undefined;

  constructor(log: Followed, run: number, limits: Limits, count: () => number) {
    this.#log = log;
    this.#run = run;
    this.#limits = limits;
    this.#count = count;
    this.#glance = log.look(run);
    try {
      this.#watcher = watch(log.folder, { persistent: false }, () => this.#soon());
      this.#watcher.on("error", () => this.#unwatch());
    } catch {
      // No folder yet, or no watches left: the poll alone.
    }
    this.#poll = setInterval(() => this.#look(), POLL_MS);
  }

  get live(): boolean {
    return this.#glance.live;
  }

  get next(): number | undefined {
    return this.#glance.next;
  }

  get end(): number {
    return this.#glance.end;
  }

  place(offset: number): LogPlace | undefined {
    return this.#glance.place(offset);
  }

  /** The next lines; undefined when there are none yet. */
  read(from: LogPlace): Batch | undefined {
    if (from.offset >= this.#glance.end) return undefined;
    const known = this.#batches.get(from.offset);
    if (known !== undefined) return known;
    const { batchLines, batchBytes } = this.#limits;
    const { records, next } = this.#glance.read(from, { lines: batchLines, bytes: batchBytes });
    if (next.offset === from.offset) return undefined;
    const batch = { items: Buffer.from(records.map((record) => JSON.stringify(record)).join(",")), next };
    if (this.#batches.size >= KEPT) this.#batches.clear();
    this.#batches.set(from.offset, batch);
    return batch;
  }

  close(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#gather);
    this.#unwatch();
    this.#glance[Symbol.dispose]();
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #soon(): void {
    this.#gather ??= setTimeout(() => this.#look(), Math.max(GATHER_MS, this.#count() * GATHER_EACH_MS));
  }

  #look(): void {
    clearTimeout(this.#gather);
    this.#gather = undefined;
    let now: Glance;
    try {
      now = this.#log.look(this.#run);
    } catch {
      return; // Out of descriptors, say: the next look may have more luck.
    }
    const before = this.#glance;
    before[Symbol.dispose]();
    this.#glance = now;
    this.#batches.clear();
    if (now.end === before.end && now.live === before.live && now.next === before.next) return;
    for (const wake of this.followers) wake();
  }
}
