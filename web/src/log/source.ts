/**
 * One log as rows by line number, of which only a few pages are kept. Lines far apart are read from the disk of the server by its
 * index, so a log of 10 GB costs no more than a short one.
 */
import { signal } from "@preact/signals";
import type { LogRecord } from "../../../src/log/record.ts";
import { get } from "../api.ts";
import { subscribe } from "../live.ts";
import { type Row, rowReader } from "./read.ts";

const PAGE = 200;
const PAGES_KEPT = 16;

interface LogPlace {
  line: number | null;
  offset: number;
}

export interface PageAnswer {
  run: number;
  live: boolean;
  lines: number | null;
  bytes: number;
  first_line: number | null;
  records: LogRecord[];
  next: LogPlace;
}

interface LogPage {
  rows: Row[];
  /** Reads on behind the last row. */
  read: ReturnType<typeof rowReader>;
}

export interface Of {
  agent: string;
  run: number;
  driver: string;
  stderr: boolean;
}

export class LogSource {
  /** Whole lines that are known to be there. */
  readonly lines = signal(0);
  readonly bytes = signal(0);
  readonly live = signal(true);
  /** Goes up when rows have come that may be in sight. */
  readonly version = signal(0);
  /** The first answer is here. */
  readonly opened = signal(false);
  readonly error = signal<unknown>(undefined);
  readonly of: Of;
  #pages = new Map<number, LogPage>();
  #coming = new Map<number, Promise<void>>();
  #end: LogPlace = { line: 0, offset: 0 };
  #unfollow: (() => void) | undefined;
  #closed = false;

  constructor(of: Of) {
    this.of = of;
  }

  /** Reads the last lines, and with them how many there are. */
  async open(): Promise<void> {
    await this.#guard(async () => {
      // Two pages, so that what the first window shows comes with one answer.
      this.#take(await this.#page({ tail: true, limit: 2 * PAGE }));
      this.opened.value = true;
    });
  }

  /** Has grown, perhaps: looks again how many lines there are. */
  async refresh(): Promise<void> {
    if (this.#unfollow === undefined)
      await this.#guard(async () => this.#take(await this.#page({ tail: true, limit: 1 })));
  }

  close(): void {
    this.#closed = true;
    this.unfollow();
  }

  /** Rows of these lines (from 1), as far as they are here. */
  rows(from: number, to: number): Row[] {
    const found: Row[] = [];
    for (let page = pageOf(from); page <= pageOf(to); page++)
      for (const row of this.#pages.get(page)?.rows ?? []) if (row.seq >= from && row.seq <= to) found.push(row);
    return found;
  }

  async need(from: number, to: number): Promise<void> {
    const wanted: Promise<void>[] = [];
    for (let page = pageOf(Math.max(1, from)); page <= pageOf(Math.min(to, this.lines.peek())); page++) {
      if (this.#pages.has(page)) this.#touch(page);
      else wanted.push(this.#load(page));
    }
    await Promise.all(wanted);
  }

  /** The line that was printed at this time, or next. */
  async lineAt(time: string): Promise<number> {
    const { first_line } = await this.#page({ time, limit: 1 });
    return Math.min((first_line ?? 0) + 1, Math.max(1, this.lines.peek()));
  }

  /** The whole record, as it is. */
  async whole(seq: number): Promise<LogRecord | undefined> {
    return (await this.#page({ line: seq - 1, limit: 1 })).records[0];
  }

  follow(onRun: (run: number) => void): void {
    if (this.#unfollow !== undefined || !this.live.peek() || this.#closed) return;
    const { agent, run, stderr } = this.of;
    const cursor = { offset: this.#end.offset, line: this.#end.line ?? 0 };
    this.#unfollow = subscribe({ stream: "log", agent, run, stderr, cursor }, (message) => {
      if (message.run !== undefined && message.run !== run) onRun(message.run);
      if (message.error) this.error.value = message.error;
      if (message.cut) this.#forget(message.cursor as LogPlace);
      if (message.items) this.#append(message.items as LogRecord[], message.cursor as LogPlace | undefined);
      if (message.end) {
        this.live.value = false;
        this.unfollow();
        void this.open();
      }
    });
  }

  unfollow(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  /** Somebody took away what was in it: what is there now has the same numbers. */
  #forget(from: LogPlace): void {
    this.#pages.clear();
    this.lines.value = from.line ?? 0;
    this.bytes.value = from.offset;
    this.version.value++;
  }

  #append(records: readonly LogRecord[], cursor: LogPlace | undefined): void {
    for (const record of records) this.#put(record);
    const last = records.at(-1)?.seq ?? 0;
    this.lines.value = Math.max(this.lines.peek(), cursor?.line ?? 0, last);
    if (cursor) {
      this.#end = cursor;
      this.bytes.value = Math.max(this.bytes.peek(), cursor.offset);
    }
    this.#evict(pageOf(this.lines.peek()));
    this.version.value++;
  }

  #page(place: Record<string, string | number | boolean>): Promise<PageAnswer> {
    const { agent, run, stderr } = this.of;
    return get<PageAnswer>("page", { agent, run, stderr: stderr || undefined, ...place });
  }

  #take({ lines, bytes, live, next, records, first_line }: PageAnswer): void {
    this.lines.value = Math.max(lines ?? next.line ?? 0, 0);
    this.bytes.value = bytes;
    this.live.value = live;
    if (this.#unfollow === undefined) this.#end = next;
    // The last page may have grown since it was read. One whose beginning is here can be made of these records.
    this.#pages.delete(pageOf(this.lines.peek()));
    const from = Math.ceil((first_line ?? 0) / PAGE) * PAGE;
    for (const record of records) if ((record.seq ?? 0) > from) this.#put(record, from);
    this.version.value++;
  }

  async #load(page: number): Promise<void> {
    const begun = this.#coming.get(page);
    if (begun) return begun;
    const loading = this.#guard(async () => {
      const made: LogPage = { rows: [], read: rowReader(this.of.driver) };
      const to = (page + 1) * PAGE;
      let line = page * PAGE;
      // Long lines come in several answers.
      while (line < to && !this.#closed) {
        const answer = await this.#page({ line, limit: to - line });
        for (const record of answer.records) if (record.seq !== null) made.rows.push(made.read(record, record.seq));
        const next = answer.next.line ?? to;
        if (next <= line) break;
        line = next;
      }
      this.#pages.set(page, made);
      this.#evict(page);
      this.version.value++;
    }).finally(() => this.#coming.delete(page));
    this.#coming.set(page, loading);
    return loading;
  }

  /** `from`: lines behind this one are all given, also those that begin a page. */
  #put(record: LogRecord, from = Number.POSITIVE_INFINITY): void {
    const seq = record.seq;
    if (seq === null) return;
    const page = pageOf(seq);
    // A page that begins in its middle would hide the lines before.
    if (!this.#pages.has(page) && ((seq - 1) % PAGE === 0 || page * PAGE >= from))
      this.#pages.set(page, { rows: [], read: rowReader(this.of.driver) });
    const known = this.#pages.get(page);
    if (known !== undefined && seq > (known.rows.at(-1)?.seq ?? 0)) known.rows.push(known.read(record, seq));
  }

  #touch(page: number): void {
    const rows = this.#pages.get(page);
    if (rows === undefined) return;
    this.#pages.delete(page);
    this.#pages.set(page, rows);
  }

  #evict(keep: number): void {
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= PAGES_KEPT) return;
      if (Math.abs(page - keep) > 1) this.#pages.delete(page);
    }
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.error.value = undefined;
    } catch (error) {
      if (!this.#closed) this.error.value = error;
    }
  }
}

function pageOf(line: number): number {
  return Math.floor((Math.max(1, line) - 1) / PAGE);
}
