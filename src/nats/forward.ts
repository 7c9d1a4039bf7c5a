/**
 * What this host wrote goes to the hub: the local journal is the outbox, and nothing else is kept. The last message under our name says
 * where in the journal it came from, so we go on behind it; and a batch is stored only if that message is still the last. So each event
 * is there once and in order, whoever is killed in between, with two of us at once, and however long the hub was away.
 */
import type { StoredMsg } from "@nats-io/jetstream";
import { parseJson } from "../core/json.ts";
import type { Cursor, EventLog } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { isLeadersBeat } from "../journal/term.ts";
import { isNotFound } from "./fault.ts";
import type { Hub } from "./hub.ts";
import type { Names } from "./names.ts";
import { AT, expecting, type Outgoing, publish, publishTogether } from "./publish.ts";
import { counts, type Seal, type Seals, stampOf } from "./signed/seals.ts";

const BATCH = 500;
const BATCH_BYTES = 4 << 20;
/** Of what the server takes for a message this much is left for its headers. */
const HEADERS_BYTES = 4096;
/** What took so long from its signing to its place may be too old for readers: it is looked at, and sent anew. */
const SLOW_MS = 60_000;

export interface ForwardOptions {
  hub: Hub;
  names: Names;
  seals: Seals;
  host: string;
  /** What this machine wrote. */
  log: EventLog;
  /** How far an earlier one said it came (`sent`): asked when the hub keeps nothing of ours any more. */
  before?(): Promise<string | undefined>;
  /** Hides secrets; made anew for each round. */
  mask(): (event: JournalEvent) => JournalEvent;
}

interface Forwarded {
  /** Of the last message under our name; 0 when there is none. */
  seq: number;
  after: Cursor | undefined;
  /** When the last one was signed: they lie in the order of their signing. */
  stamp: number;
  /** Events behind `after` that are there already. */
  skip: ReadonlySet<string>;
}

export class Forwarder {
  readonly #options: ForwardOptions;
  readonly #subject: string;
  #place: Forwarded | undefined;

  constructor(options: ForwardOptions) {
    this.#options = options;
    this.#subject = options.names.events.of(options.host);
  }

  /** Everything that is new now; says how many went out. Throws HUB_AWAY and the like: then call it again. */
  async round(): Promise<number> {
    try {
      for (let sent = 0; ; ) {
        this.#place ??= await this.#find();
        const { count, beaten } = await this.#pass(this.#place);
        sent += count;
        if (!beaten) return sent;
        this.#place = undefined; // Another process forwards too: on from where it came to.
      }
    } catch (error) {
      this.#place = undefined; // What was under way may have been stored or not: the hub knows.
      throw error;
    }
  }

  async #pass(place: Forwarded): Promise<{ count: number; beaten: boolean }> {
    const { log, mask, hub } = this.#options;
    const hide = mask();
    const most = (hub.connection.info?.max_payload ?? 1 << 20) - HEADERS_BYTES;
    let count = 0;
    let batch: Outgoing[] = [];
    let bytes = 0;
    let reached = place.after;
    const flush = async (): Promise<boolean> => {
      const seq = await this.#send(batch, place);
      if (seq === undefined) return false;
      count += batch.length;
      [batch, bytes] = [[], 0];
      Object.assign(place, { seq, after: reached, skip: NOTHING });
      return true;
    };
    for await (const item of log.read({ after: place.after })) {
      const at = reached;
      reached = item.next;
      if (!("event" in item) || isLeadersBeat(item.event) || place.skip.has(item.event.id)) continue;
      const payload = this.#payload(hide(item.event), most);
      if (batch.length === BATCH || bytes + payload.length > BATCH_BYTES) {
        reached = at;
        if (!(await flush())) return { count, beaten: true };
        reached = item.next;
      }
      batch.push({ subject: this.#subject, payload, headers: { [AT]: at ?? "" } });
      bytes += payload.length;
    }
    if (batch.length > 0 && !(await flush())) return { count, beaten: true };
    Object.assign(place, { after: reached, skip: NOTHING }); // Also behind what was there already.
    return { count, beaten: false };
  }

  #payload(event: JournalEvent, most: number): string {
    const { host } = this.#options;
    const payload = JSON.stringify({ ...event, origin: host });
    if (Buffer.byteLength(payload) <= most) return payload;
    // The hub takes no message of this size. The whole one stays here.
    const { v, id, interaction, actor, type, timestamp } = event;
    const content = `${event.content.slice(0, 1000)} [cut: the rest is on ${host}]`;
    return JSON.stringify({ v, id, interaction, actor, type, content, timestamp, origin: host, truncated: true });
  }

  /** The number of the last message; undefined when another was faster, or when this machine slept over it: readers take that for a copy. */
  async #send(batch: readonly Outgoing[], place: Forwarded): Promise<number | undefined> {
    const { hub, seals } = this.#options;
    const begun = Date.now();
    const signed = batch.map((one): Outgoing => {
      const at = one.headers?.[AT] ?? "";
      const headers = { [AT]: at, ...seals.headers("event", one.subject, one.payload, at, place.stamp + 1) };
      return { ...one, headers };
    });
    const [first, ...rest] = signed as Outgoing[] as [Outgoing, ...Outgoing[]];
    const fenced = { ...first, headers: { ...first.headers, ...expecting(place.seq) } };
    const { result, seq } =
      rest.length === 0 ? await publish(hub, fenced) : await publishTogether(hub, [fenced, ...rest]);
    return result === "stored" && Date.now() - begun < SLOW_MS ? seq : undefined;
  }

  /** Behind the last event that is there. If our journal does not have it, it is another one: all of it is new but what is there by its id. */
  async #find(): Promise<Forwarded> {
    const { hub, names, log } = this.#options;
    const { stream } = names.events;
    const last = await hub.ask(({ streams }) => streams.getMessage(stream, { last_by_subj: this.#subject }));
    if (last === null) return { seq: 0, after: await this.#sentBefore(), stamp: 0, skip: NOTHING };
    if (!counts(this.#sealOf(last))) return { seq: last.seq, after: undefined, ...(await this.#ours()) };
    const after = last.header.get(AT) || undefined;
    const stamp = stampOf(last.header);
    const id = idOf(last.string());
    if (after === undefined || (await log.holds(after))) {
      for await (const item of log.read({ after })) {
        if (!("event" in item)) continue;
        if (item.event.id !== id) break;
        return { seq: last.seq, after, stamp, skip: new Set([id]) };
      }
    }
    return { seq: last.seq, after: undefined, ...(await this.#ours()) };
  }

  /** Somebody else may have had it stored under our name. */
  #sealOf({ subject, data, header, time }: StoredMsg): Seal {
    const { seals, host } = this.#options;
    const sealed = { subject, payload: data, headers: header, more: header.get(AT), host, storedMs: time.getTime() };
    return seals.judge("event", sealed);
  }

  /** How far we came: which stream it was, and where in our journal. Undefined before the first round. */
  async sent(): Promise<string | undefined> {
    const after = this.#place?.after;
    return after === undefined ? undefined : `${await this.#mark()} ${after}`;
  }

  /** A stream that was made anew has nothing of ours; in one that is bounded what we sent may have gone. */
  async #sentBefore(): Promise<Cursor | undefined> {
    const [mark, after] = (await this.#options.before?.())?.split(" ") ?? [];
    const isThere = after !== undefined && mark === (await this.#mark()) && (await this.#options.log.holds(after));
    return isThere ? after : undefined;
  }

  async #mark(): Promise<string> {
    const { hub, names } = this.#options;
    const { created } = await hub.ask(({ streams }) => streams.info(names.events.stream));
    return String(Date.parse(String(created)));
  }

  async #ours(): Promise<Pick<Forwarded, "skip" | "stamp">> {
    const { hub, names } = this.#options;
    const ids = new Set<string>();
    let stamp = 0;
    for (let seq = 1; ; ) {
      let count = 0;
      const found = await hub.manager.direct.getBatch(names.events.stream, {
        seq,
        next_by_subj: this.#subject,
        batch: BATCH,
      } as Parameters<typeof hub.manager.direct.getBatch>[1]);
      try {
        for await (const message of found) {
          seq = message.seq + 1;
          count++;
          const seal = this.#sealOf(message);
          if (!counts(seal) && seal !== "unsigned") continue; // What we sent before we signed is ours.
          ids.add(idOf(message.string()));
          stamp = Math.max(stamp, stampOf(message.header));
        }
      } catch (error) {
        if (!isNotFound(error)) throw error; // Otherwise there are no more.
      }
      if (count === 0) return { skip: ids, stamp };
    }
  }
}
const NOTHING: ReadonlySet<string> = new Set();

function idOf(text: string): string {
  return String((parseJson(text) as { id?: unknown } | null | undefined)?.id);
}
