/**
 * What a client can follow. A subscription is a place and a way to take the next message from there; it holds no data. `take` gives
 * one message, or undefined when there is nothing new: `wake` is called when there may be.
 */

import { z } from "zod";
import { maskValue } from "../../core/mask/mask.ts";
import type { LogPlace, Stored } from "../../fleet/workspace.ts";
import { usage } from "../../operations/operation.ts";
import type { Door } from "./door.ts";
import type { LogFeed, LogFeeds } from "./log-feed.ts";

/** The fields of one message, without the braces. Those that go to many are bytes: they are neither copied nor encoded again. */
export interface Fields {
  items?: Buffer;
  more: string;
}

export interface Subscription {
  /** Undefined when there is nothing new. */
  take(): Fields | undefined;
  /** Nothing more will come. */
  readonly over: boolean;
  close(): void;
}

const id = z.number().int();
const cursor = z.string().max(100).optional();
const ASKED = z.discriminatedUnion("stream", [
  z.strictObject({ sub: id, stream: z.literal("fleet"), cursor: z.unknown().optional() }),
  z.strictObject({
    sub: id,
    stream: z.literal("log"),
    agent: z.string(),
    run: z.number().int().min(1).max(1e9).optional(),
    stderr: z.boolean().default(false),
    cursor: z
      .union([z.object({ run: z.number().int().min(1).optional(), offset: z.number().int().min(0) }), z.literal("end")])
      .optional(),
  }),
  // Of a synced journal a cursor names each machine.
  z.strictObject({ sub: id, stream: z.literal("journal"), cursor: z.string().max(16_384).optional() }),
  z.strictObject({ sub: id, stream: z.literal("summaries"), cursor }),
]);
type Asked = z.output<typeof ASKED>;

/** Throws for what is no subscription, and for an agent that is not there. */
export function subscribe(door: Door, feeds: LogFeeds, message: unknown, wake: () => void): Subscription {
  const checked = ASKED.safeParse(message);
  if (!checked.success)
    throw usage(
      `This is no subscription: ${checked.error.issues[0]?.path.join(".")}.`,
      "docs/http.md lists the streams.",
    );
  const asked = checked.data;
  switch (asked.stream) {
    case "fleet":
      return followFleet(door, wake);
    case "log":
      return new LogSubscription(door, feeds, asked, wake);
    case "journal":
      return new JournalSubscription(door, asked.cursor, wake);
    case "summaries":
      return followSummaries(door, asked.cursor, wake);
  }
}

function followFleet({ fleet }: Door, wake: () => void): Subscription {
  let version = 0;
  const close = fleet.follow(wake);
  return {
    over: false,
    close,
    take() {
      const news = fleet.since(version);
      if (news === undefined) return undefined;
      version = news.version;
      return { items: news.items, more: `"cursor":null${news.whole ? ',"whole":true' : ""}` };
    },
  };
}

class LogSubscription implements Subscription {
  over = false;
  readonly #again: (run: number) => { feed: LogFeed; end: () => void };
  /** Whether it goes on with the agent's next run: not when an old one was asked for. */
  readonly #onward: boolean;
  #run: number;
  #at: LogPlace;
  #feed: LogFeed;
  #cuts: number;
  #end: () => void;

  constructor(door: Door, feeds: LogFeeds, asked: Extract<Asked, { stream: "log" }>, wake: () => void) {
    const { agent, stderr, cursor: from } = asked;
    const cursorRun = typeof from === "object" ? from.run : undefined;
    const log = door.workspace.logs.followed(agent, { run: cursorRun ?? asked.run, stderr });
    this.#onward = cursorRun !== undefined || log.run === log.newest;
    this.#run = log.run;
    this.#again = (run) => feeds.follow(log, run, stderr, wake);
    const { feed, end } = this.#again(log.run);
    this.#feed = feed;
    this.#cuts = feed.cuts;
    this.#end = end;
    try {
      this.#at = placeIn(feed, from === "end" ? feed.end : (from?.offset ?? 0));
    } catch (error) {
      end();
      throw error;
    }
  }

  take(): Fields | undefined {
    if (this.over) return undefined;
    if (this.#feed.cuts !== this.#cuts) {
      this.#cuts = this.#feed.cuts;
      if (this.#at.offset > this.#feed.cutTo || this.#feed.cutTo === 0)
        this.#at = this.#feed.place(this.#feed.cutTo) ?? { offset: 0, line: 0 };
      return { more: `"cut":true,"cursor":${this.#cursor()}` };
    }
    const batch = this.#feed.read(this.#at);
    if (batch !== undefined) {
      this.#at = batch.next;
      return { items: batch.items, more: `"cursor":${this.#cursor()}` };
    }
    if (this.#feed.live) return undefined;
    const { next } = this.#feed;
    if (next === undefined || !this.#onward) {
      this.over = true;
      return { more: '"end":true' };
    }
    this.#end();
    ({ feed: this.#feed, end: this.#end } = this.#again(next));
    this.#cuts = this.#feed.cuts;
    this.#run = next;
    this.#at = { offset: 0, line: 0 };
    return { more: `"run":${next},"cursor":${this.#cursor()}` };
  }

  close(): void {
    this.#end();
  }

  #cursor(): string {
    return JSON.stringify({ run: this.#run, ...this.#at });
  }
}

function placeIn(feed: LogFeed, offset: number): LogPlace {
  const place = feed.place(offset);
  if (place !== undefined) return place;
  throw usage(
    "No line of this log begins at that cursor.",
    "A cursor is what an earlier message gave; without one the log is read from its beginning.",
  );
}

/** Reads one batch ahead and no more: the journal waits on the disk until that has been taken. */
class JournalSubscription implements Subscription {
  over = false;
  readonly #ended = new AbortController();
  #items: string[] = [];
  #bytes = 0;
  #cursor: string | null = null;
  #failed: unknown;
  #taken: () => void = () => undefined;

  constructor(door: Door, from: string | undefined, wake: () => void) {
    const events = door.workspace.journal.from(from, this.#ended.signal);
    void this.#read(events, door.limits.batchBytes, wake).catch((error: unknown) => {
      this.#failed = error;
      wake();
    });
  }

  async #read(events: AsyncGenerator<Stored>, most: number, wake: () => void): Promise<void> {
    for await (const { seq, event, next } of events) {
      const text = JSON.stringify({ seq, ...(maskValue(event) as object) });
      this.#items.push(text);
      this.#bytes += text.length;
      this.#cursor = next;
      wake();
      if (this.#bytes < most) continue;
      await new Promise<void>((resolve) => {
        this.#taken = resolve;
      });
    }
  }

  take(): Fields | undefined {
    if (this.#failed !== undefined) {
      this.over = true;
      throw this.#failed;
    }
    if (this.#items.length === 0) return undefined;
    const message = { items: Buffer.from(this.#items.join(",")), more: `"cursor":${JSON.stringify(this.#cursor)}` };
    this.#items = [];
    this.#bytes = 0;
    this.#taken();
    return message;
  }

  close(): void {
    this.over = true;
    this.#ended.abort();
    this.#taken();
  }
}

/** Each summary that changed; the cursor is the time of the newest that was given, so one may come twice, none is left out. */
function followSummaries({ workspace, fleet, limits }: Door, from: string | undefined, wake: () => void): Subscription {
  if (workspace.config.watch_streaming === "off") return { over: true, close: () => undefined, take: () => undefined };
  let since = from === "end" ? new Date().toISOString() : (from ?? "");
  /** The time of each that was given and is not older than the cursor. */
  const told = new Map<string, string>();
  const close = fleet.follow(wake);
  return {
    over: false,
    close,
    take() {
      const items: string[] = [];
      let bytes = 0;
      for (const { agent, run, at } of workspace.verdicts.positions.summariesSince(since)) {
        if (told.get(`${agent}.${run}`) === at) continue;
        if (bytes >= limits.batchBytes) break;
        const summary = workspace.verdicts.stored(agent, run);
        if (summary === undefined) continue;
        const text = JSON.stringify(summary);
        items.push(text);
        bytes += text.length;
        told.set(`${agent}.${run}`, summary.timestamp);
        since = at;
      }
      if (items.length === 0) return undefined;
      for (const [key, at] of told) if (at < since) told.delete(key);
      return { items: Buffer.from(items.join(",")), more: `"cursor":${JSON.stringify(since)}` };
    },
  };
}
