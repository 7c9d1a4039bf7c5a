/**
 * The journal of a fleet as a stream of NATS. An id is stored once within the server's window of ten minutes; what belongs together goes
 * as one atomic batch, which costs one sync. What a leader writes carries the place of its election, and the server refuses it when
 * another was elected since: the fence is where the event is stored.
 *
 * Readers keep no consumer on the server that could die or be forgotten: they ask for the end of the stream, then for what lies before it.
 * A subscription only wakes them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { StoredMsg, StreamInfo } from "@nats-io/jetstream";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import type { BadLine, Cursor, EngineHealth, EventLog, ReadOptions, Stored } from "../journal/engine.ts";
import { type JournalEvent, readEvent } from "../journal/event.ts";
import { ELECTION, LEADER } from "../journal/term.ts";
import { away, isNotFound } from "./fault.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import { AT, expecting, type Outgoing, type Published, publish, publishTogether } from "./publish.ts";
import { counts, type Seals, stampOf } from "./signed/seals.ts";
import { ensureStream } from "./stream.ts";
import { Wake } from "./wake.ts";

const BATCH = 500;
const BATCH_BYTES = 4 << 20;
const READ_BYTES = 8 << 20;
/** A copy may lag behind the leader that told us the end. */
const LAG_MS = 5000;
const POLL_MS = 1000;
const AGAIN_MS = 20;
const WINDOW_NS = 600e9;
/** A copy that was not heard of for this long is behind; one that is just being made is not. */
const LATE_NS = 5e9;
const NEVER = new AbortController().signal;
const COPY = "it is a copy of an old one";
const OTHER = "it says that it comes from another host";

/** The election in whose term something is written. */
interface Fence {
  seq: number;
  subject: string;
}

interface StreamCursor {
  /** Of the stream: one that was made anew has another. */
  mark: string;
  seq: number;
}

export class NatsLog implements EventLog {
  readonly #hub: Hub;
  readonly #names: Names["events"];
  readonly #origin: string;
  readonly #seals: Seals;
  /** Where the elections lie in whose terms we write. */
  readonly #elections = new Map<string, number>();

  private constructor(hub: Hub, names: Names["events"], origin: string, seals: Seals) {
    this.#seals = seals;
    this.#hub = hub;
    this.#names = names;
    this.#origin = origin;
  }

  static async open(hub: Hub, names: Names, origin: string, seals: Seals): Promise<NatsLog> {
    const { stream: name, subjects } = names.events;
    const { RetentionPolicy, StorageType } = hub.client.jetstream;
    const info = await ensureStream(hub, {
      name,
      subjects,
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      duplicate_window: WINDOW_NS,
      allow_atomic: true,
      allow_direct: true,
      deny_delete: true,
      deny_purge: true,
    });
    seals.followClock(Date.parse(String((info as { ts?: unknown }).ts)));
    return new NatsLog(hub, names.events, origin, seals);
  }

  async append(events: readonly JournalEvent[]): Promise<void> {
    for (const part of parts(events)) {
      const [first] = part as [JournalEvent];
      if (first.type === ELECTION && first.term !== undefined) await this.#elect(first, first.term);
      else await this.#store(part, first.term === undefined ? undefined : await this.#fence(first, first.term));
    }
  }

  async #store(events: readonly JournalEvent[], fence: Fence | undefined): Promise<void> {
    const subject = this.#names.of(this.#origin);
    const fenced = fence === undefined ? {} : expecting(fence.seq, fence.subject);
    const messages: Outgoing[] = events.map((event) => {
      const payload = JSON.stringify(event);
      return { subject, payload, id: event.id, headers: this.#seals.headers("event", subject, payload) };
    });
    const [first, ...rest] = messages as [Outgoing];
    const withFence = (message: Outgoing): Outgoing => ({ ...message, headers: { ...message.headers, ...fenced } });
    const whole = [withFence(first), ...rest];
    const result = await this.#fenced(fence, () =>
      rest.length === 0 ? publish(this.#hub, whole[0] as Outgoing) : publishTogether(this.#hub, whole),
    );
    // Of a batch nothing was stored: one after the other, what is there already is passed over.
    if (result === "duplicate" && rest.length > 0)
      for (const message of messages) await this.#fenced(fence, () => publish(this.#hub, withFence(message)));
  }

  /** A cluster may refuse because it is just storing another of the same leader: only another election ends a term. */
  async #fenced(fence: Fence | undefined, act: () => Promise<Published>): Promise<Published["result"]> {
    for (;;) {
      const { result } = await act();
      if (result !== "conflict") return result;
      if (fence === undefined || (await this.#lastElection(fence.subject))?.seq !== fence.seq) throw deposed();
      await sleep(AGAIN_MS);
    }
  }

  /** Behind the election before it, and behind no other: two at once cannot both be the last. */
  async #elect(event: JournalEvent, term: number): Promise<void> {
    const subject = this.#names.leader(roleOf(event));
    const before = await this.#lastElection(subject);
    let seq = before?.event?.id === event.id ? before.seq : 0;
    if (seq === 0) {
      if ((before?.event?.term ?? 0) >= term) throw deposed();
      const payload = JSON.stringify(event);
      const headers = { ...expecting(before?.seq ?? 0), ...this.#seals.headers("event", subject, payload) };
      const stored = await publish(this.#hub, { subject, payload, headers });
      if (stored.result === "conflict") throw deposed();
      seq = stored.seq;
    }
    this.#elections.set(`${subject} ${term}`, seq);
  }

  async #fence(event: JournalEvent, term: number): Promise<Fence> {
    const subject = this.#names.leader(roleOf(event));
    const key = `${subject} ${term}`;
    let seq = this.#elections.get(key);
    if (seq === undefined) {
      const last = await this.#lastElection(subject);
      if (last?.event?.term !== term) throw deposed();
      seq = last.seq;
      this.#elections.set(key, seq);
    }
    return { seq, subject };
  }

  /** Without its event when it is none, or when nobody signed it who may: it elects nobody, but the next lies behind it. */
  async #lastElection(subject: string): Promise<{ event: JournalEvent | undefined; seq: number } | undefined> {
    const { stream } = this.#names;
    const found = await this.#hub.ask(({ streams }) => streams.getMessage(stream, { last_by_subj: subject }));
    if (found === null) return undefined;
    const item = this.#itemOf(found, "", new Map());
    return { event: "event" in item ? item.event : undefined, seq: found.seq };
  }

  /** `stamps`: when the last of each host was signed that this reader has seen; in the order of its journal they only grow. */
  #itemOf(message: StoredMsg, next: Cursor, stamps: Map<string, number>): Stored | BadLine {
    const { seq, data, subject, header } = message;
    const { event, reason } = readEvent(data, seq);
    const bad = (why: string): BadLine => ({
      bad: { line: null, seq, reason: why, length: data.length, bytes: data },
      next,
    });
    if (event === undefined) return bad(reason);
    if (this.#seals.isOpen) return { event, seq, next };
    const host = this.#names.host(subject);
    const isForwarded = header?.has(AT) ?? false;
    const at = header?.get(AT) ?? "";
    const storedMs = message.time.getTime();
    const seal = this.#seals.judge("event", { subject, payload: data, headers: header, more: at, host, storedMs });
    if (seal === "wrong" || seal === "old") return bad(seal === "old" ? COPY : "its signature is wrong");
    if (host !== undefined && event.origin !== undefined && event.origin !== host)
      return bad(this.#doubted(subject, OTHER));
    if (seal === "unsigned") return { event: withoutTerm(event), seq, next, signed: false };
    const stamp = stampOf(header);
    if (isForwarded && stamp <= (stamps.get(subject) ?? 0)) return bad(this.#doubted(subject, COPY));
    if (isForwarded) stamps.set(subject, stamp);
    return { event, seq, next, signed: counts(seal) };
  }

  #doubted(subject: string, why: string): string {
    this.#seals.doubt(subject, why);
    return why;
  }

  async *read({ after, follow = false, signal = NEVER }: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    using wake = follow ? new Wake(this.#hub.connection, this.#names.subjects, signal) : undefined;
    const stamps = new Map<string, number>();
    let place = after === undefined ? undefined : parse(after);
    if (after !== undefined && place === undefined)
      throw new MidwatchError("USAGE", `${quote(after)} is not a cursor of this journal.`, {
        hint: "A cursor is what an earlier read gave.",
      });
    for (;;) {
      const { mark, first, last } = await this.#ends();
      if (place?.mark !== mark || place.seq > last) place = { mark, seq: 0 };
      place.seq = Math.max(place.seq, first - 1);
      while (place.seq < last && !signal.aborted) {
        for (const message of await this.#batch(place.seq + 1, last, signal)) {
          place.seq = message.seq;
          yield this.#itemOf(message, format(place), stamps);
          if (signal.aborted) return;
        }
      }
      if (wake === undefined || signal.aborted) return;
      await wake.wait(POLL_MS);
      if (signal.aborted) return;
    }
  }

  /** At least one, from `seq` on. */
  async #batch(seq: number, last: number, signal: AbortSignal): Promise<StoredMsg[]> {
    const until = performance.now() + LAG_MS;
    for (;;) {
      const found: StoredMsg[] = [];
      try {
        const answers = await this.#hub.manager.direct.getBatch(this.#names.stream, {
          seq,
          batch: Math.min(BATCH, last - seq + 1),
          max_bytes: READ_BYTES,
        });
        for await (const message of answers) found.push(message);
      } catch (error) {
        if (!isNotFound(error) && performance.now() > until) throw away(error, "The hub does not give what it holds");
      }
      if (found.length > 0 || signal.aborted) return found;
      if (performance.now() > until) throw away(undefined, `The hub does not give message ${seq}`);
      await sleep(20);
    }
  }

  async #ends(): Promise<{ mark: string; first: number; last: number }> {
    const info = await this.#info();
    return { mark: markOf(info), first: info.state.first_seq, last: info.state.last_seq };
  }

  #info(): Promise<StreamInfo> {
    return this.#hub.ask(({ streams }) => streams.info(this.#names.stream));
  }

  async tail(lines: number): Promise<Cursor | undefined> {
    const { mark, first, last } = await this.#ends();
    const seq = last - lines;
    return seq < first ? undefined : format({ mark, seq });
  }

  async holds(cursor: Cursor): Promise<boolean> {
    const place = parse(cursor);
    if (place === undefined) return false;
    const { mark, first, last } = await this.#ends();
    return place.mark === mark && place.seq <= last && place.seq >= first - 1;
  }

  async health(): Promise<EngineHealth> {
    try {
      const { cluster } = await this.#info();
      const late = (cluster?.replicas ?? []).filter(
        ({ current, offline, active }) => offline === true || (!current && active > LATE_NS),
      );
      const problems = late.map(({ name }) => `The copy of the journal on ${name} is behind or away.`);
      const { durable, problems: more } = await this.#hub.durability();
      return { engine: "nats", durable, problems: [...more, ...problems] };
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      return { engine: "nats", durable: false, problems: [error.message] };
    }
  }

  async close(): Promise<void> {
    this.#elections.clear();
  }
}

/** What nobody signed elects nobody, and is no leader's. */
function withoutTerm({ term: _, ...event }: JournalEvent): JournalEvent {
  return event;
}

function roleOf(event: JournalEvent): string {
  return typeof event["role"] === "string" ? event["role"] : LEADER;
}

/** Whoever was elected since may write; nothing of ours was stored. */
function deposed(): MidwatchError {
  return new MidwatchError("REFUSED_TERM", "Another leader was elected: what this one wrote is refused.", {
    hint: "Nothing is to be done; the new leader goes on.",
  });
}

/** In order, each small enough for one batch, and of one term. */
function* parts(events: readonly JournalEvent[]): Generator<JournalEvent[]> {
  let [part, bytes]: [JournalEvent[], number] = [[], 0];
  for (const event of events) {
    const size = event.content.length + 1024;
    const fits =
      part[0] === undefined || (part[0].term === event.term && part[0].type !== ELECTION && event.type !== ELECTION);
    if (!fits || part.length === BATCH || bytes + size > BATCH_BYTES) {
      if (part.length > 0) yield part;
      [part, bytes] = [[], 0];
    }
    part.push(event);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

function markOf({ created }: StreamInfo): string {
  return Date.parse(String(created)).toString(36);
}

function format({ mark, seq }: StreamCursor): Cursor {
  return `${mark}-${seq}`;
}

function parse(cursor: Cursor): StreamCursor | undefined {
  const [, mark, seq] = /^([0-9a-z]{1,12})-(\d{1,15})$/.exec(cursor) ?? [];
  return mark === undefined ? undefined : { mark, seq: Number(seq) };
}
