/**
 * One run's log for all who follow it. A look at the disk serves them all, and so does a batch that was read: each follower only has
 * its place. Nothing is kept for one that is slow; it reads on from the disk when it can take more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Followed, LogPlace, SharedLog } from "../../fleet/workspace.ts";
import type { Limits } from "./limits.ts";

interface Batch {
  /** The inside of a JSON list, as bytes: made once, sent to many. */
  items: Buffer;
  next: LogPlace;
}

/** After a look that failed, for want of descriptors, say: the next may have more luck. */
const AGAIN_MS = 250;
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
  readonly #log: SharedLog;
  readonly #limits: Limits;
  readonly #batches = new Map<number, Batch>();
  readonly #ending = new AbortController();
  #told = "";
  /** How often the log was cut, and from where on nothing was read of it then. */
  cuts = 0;
  cutTo = 0;

  constructor(log: Followed, run: number, limits: Limits, count: () => number) {
    this.#limits = limits;
    this.#log = log.share(run);
    void this.#follow(() => Math.max(GATHER_MS, count() * GATHER_EACH_MS));
  }

  get live(): boolean {
    return this.#log.now.live;
  }

  get next(): number | undefined {
    return this.#log.now.next;
  }

  get end(): number {
    return this.#log.now.end;
  }

  place(offset: number): LogPlace | undefined {
    return this.#log.place(offset);
  }

  /** The next lines; undefined when there are none yet. */
  read(from: LogPlace): Batch | undefined {
    if (from.offset >= this.#log.now.end) return undefined;
    const known = this.#batches.get(from.offset);
    if (known !== undefined) return known;
    const { batchLines, batchBytes } = this.#limits;
    const { records, next } = this.#log.read(from, { lines: batchLines, bytes: batchBytes });
    if (next.offset === from.offset) return undefined;
    const batch = { items: Buffer.from(records.map((record) => JSON.stringify(record)).join(",")), next };
    if (this.#batches.size >= KEPT) this.#batches.clear();
    this.#batches.set(from.offset, batch);
    return batch;
  }

  close(): void {
    this.#ending.abort();
    this.#log[Symbol.dispose]();
  }

  async #follow(gatherMs: () => number): Promise<void> {
    const { signal } = this.#ending;
    for (let over = false; !over && !signal.aborted; ) {
      try {
        for await (const now of this.#log.looks({ signal, gatherMs })) {
          if (now.cutTo !== undefined) {
            this.cuts++;
            this.cutTo = now.cutTo;
          }
          this.#tell(`${now.end} ${now.live} ${now.next} ${this.cuts}`);
        }
        over = true;
      } catch {
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #tell(now: string): void {
    this.#batches.clear();
    if (now === this.#told) return;
    this.#told = now;
    for (const wake of this.followers) wake();
  }
}
