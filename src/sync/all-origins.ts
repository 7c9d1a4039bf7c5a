/**
 * The journal of a synced workspace: the events of all origins as one, in the order that is the same everywhere. In a workspace that was
 * never synced it is the machine's own journal, unchanged. Appends go to that one in any case; an event of ours is shown as it goes
 * out, so that all machines render the same.
 *
 * A cursor says how far each file was read. Events that come in later but belong before what was read are given when they are
 * there; `holds` tells that the order was broken by them, and a view that depends on the order is then made anew.
 */
import { dirname } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { isOriginId, type OriginId } from "../core/ids.ts";
import type { Layout } from "../disk/layout.ts";
import type { BadLine, Cursor, EngineHealth, EventLog, ReadOptions, Stored } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { Change } from "../journal/snapshot/snapshot.ts";
import { lineStartFrom, tailStart, wholeEnd } from "../log/lines.ts";
import { FileSource } from "../log/source.ts";
import { Waker } from "../log/waker.ts";
import { exportOwn, type Mask } from "./export.ts";
import { type Placed, placed } from "./line.ts";
import { originsHere, readOrigin } from "./origin.ts";

const POLL_MS = 250;
const AT_ONCE = 2000;
const NEVER = new AbortController().signal;

/** How far one file was read, and the clock of the last event there. */
interface OriginPlace {
  offset: number;
  lc: number;
}
type Places = Map<OriginId, OriginPlace>;
/** How much of each file counts. */
type Ends = ReadonlyMap<OriginId, number>;

export class AllOrigins implements EventLog {
  readonly #layout: Layout;
  readonly #own: EventLog;
  readonly #mask: Mask;
  readonly #change: Change;
  readonly #ends: Ends | undefined;

  /** With `ends` it is the journal up to there, and nothing goes out. */
  constructor(layout: Layout, own: EventLog, mask: Mask, ends?: Ends) {
    this.#ends = ends;
    this.#layout = layout;
    this.#own = own;
    this.#mask = mask;
    this.#change = new Change(layout.events);
  }

  append(events: readonly JournalEvent[]): Promise<void> {
    return this.#own.append(events);
  }

  async *read(options: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    if (!this.#isSynced()) {
      yield* this.#own.read(options);
      return;
    }
    const { after, follow = false, signal = NEVER } = options;
    let places: Places = (after === undefined ? undefined : parse(after)) ?? new Map();
    using waker = follow ? new Waker(dirname(this.#layout.events), signal) : undefined;
    for (let first = true; ; first = false) {
      await this.#export();
      using files = new Files(this.#layout, this.#ends);
      if (first && !files.hold(places)) places = new Map();
      yield* files.read(places, signal);
      if (waker === undefined || signal.aborted) return;
      await waker.wait(POLL_MS);
      if (signal.aborted) return;
    }
  }

  async tail(lines: number): Promise<Cursor | undefined> {
    if (!this.#isSynced()) return this.#own.tail(lines);
    await this.#export();
    using files = new Files(this.#layout, this.#ends);
    return files.tail(lines);
  }

  async holds(cursor: Cursor): Promise<boolean> {
    if (!this.#isSynced()) return this.#own.holds(cursor);
    const places = parse(cursor);
    if (places === undefined) return false;
    await this.#export();
    using files = new Files(this.#layout, this.#ends);
    return files.hold(places) && files.goOnInOrder(places);
  }

  health(): Promise<EngineHealth> {
    return this.#own.health();
  }

  close(): Promise<void> {
    return this.#own.close();
  }

  #isSynced(): boolean {
    return readOrigin(this.#layout) !== undefined;
  }

  /** A reader without the right to write, or beside a full disk, reads what went out before. */
  async #export(): Promise<void> {
    if (this.#ends !== undefined || !this.#change.seen()) return;
    try {
      if (await exportOwn(this.#layout, this.#own, this.#mask)) return;
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
    }
    this.#change.forget();
  }
}

/** The files as they are now; what is written to them while we read comes with the next look. */
class Files {
  readonly #open: { origin: OriginId; source: FileSource; end: number }[] = [];

  constructor(layout: Layout, ends?: Ends) {
    for (const origin of originsHere(layout)) {
      const source = FileSource.open(layout.sync.file(origin));
      if (source === undefined) continue;
      const most = ends === undefined ? source.size() : Math.min(source.size(), ends.get(origin) ?? 0);
      this.#open.push({ origin, source, end: wholeEnd(source, most) });
    }
  }

  /** In order. `places` moves along. */
  async *read(places: Places, signal: AbortSignal): AsyncGenerator<Stored> {
    const heads = this.#open.flatMap(({ origin, source, end }) => {
      const { offset, lc } = places.get(origin) ?? { offset: 0, lc: 0 };
      const items = placed(source, offset, end, lc);
      const first = items.next();
      return first.done ? [] : [{ origin, items, item: first.value }];
    });
    try {
      for (let n = 1; heads.length > 0 && !signal.aborted; n++) {
        const head = heads.reduce((a, b) => (isBefore(b, a) ? b : a));
        const { item, origin } = head;
        places.set(origin, { offset: item.next, lc: item.lc });
        const following = head.items.next();
        if (following.done) heads.splice(heads.indexOf(head), 1);
        else head.item = following.value;
        yield { event: item.event, seq: item.seq, next: format(places) };
        if (n % AT_ONCE === 0) await breathe();
      }
    } finally {
      for (const { items } of heads) items.return(undefined);
    }
  }

  tail(lines: number): Cursor | undefined {
    const places: Places = new Map();
    for (const { origin, source, end } of this.#open) {
      const offset = tailStart(source, end, lines);
      if (offset > 0) places.set(origin, { offset, lc: 0 });
    }
    return places.size === 0 ? undefined : format(places);
  }

  hold(places: Places): boolean {
    return [...places].every(([origin, { offset }]) => {
      const file = this.#open.find((one) => one.origin === origin);
      return file !== undefined && offset <= file.end && lineStartFrom(file.source, offset, file.end) === offset;
    });
  }

  /** Whether everything that is new comes behind everything that was read. */
  goOnInOrder(places: Places): boolean {
    const read = [...places].map(([origin, { lc }]) => ({ origin, item: { lc } }));
    if (read.length === 0) return true;
    const last = read.reduce((a, b) => (isBefore(a, b) ? b : a));
    return this.#open.every(({ origin, source, end }) => {
      const { offset, lc } = places.get(origin) ?? { offset: 0, lc: 0 };
      for (const item of placed(source, offset, end, lc)) return !isBefore({ origin, item }, last);
      return true;
    });
  }

  [Symbol.dispose](): void {
    for (const { source } of this.#open) source.close();
  }
}

interface Ordered {
  origin: string;
  item: Pick<Placed, "lc">;
}

function isBefore(a: Ordered, b: Ordered): boolean {
  return a.item.lc === b.item.lc ? a.origin < b.origin : a.item.lc < b.item.lc;
}

/** Such as `host-a1b2c3:1200:17,laptop-99aa01:88:3`. */
function format(places: Places): Cursor {
  return [...places].map(([origin, { offset, lc }]) => `${origin}:${offset}:${lc}`).join(",");
}

function parse(cursor: Cursor): Places | undefined {
  const places: Places = new Map();
  for (const part of cursor.split(",")) {
    const [origin, offset = "", lc = ""] = part.split(":");
    if (!isOriginId(origin) || !/^\d{1,15}$/.test(offset) || !/^\d{1,16}$/.test(lc)) return undefined;
    places.set(origin, { offset: Number(offset), lc: Number(lc) });
  }
  return places;
}
