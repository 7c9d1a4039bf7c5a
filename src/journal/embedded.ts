/**
 * The journal as one file of this machine. Many processes append to it without a lock: each write is whole lines through O_APPEND, and
 * an append resolves when its lines are on stable storage (group commit). A reader's cursor is a byte offset.
 */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { Appender } from "../disk/appender.ts";
import { errno } from "../disk/fault.ts";
import { LineIndex } from "../log/line-index.ts";
import { forward, type Line, lineStartFrom, tailStart, wholeEnd } from "../log/lines.ts";
import { Log } from "../log/log.ts";
import { isBlank } from "../log/scanner.ts";
import { BufferSource, FileSource, type Source } from "../log/source.ts";
import { Waker } from "../log/waker.ts";
import { appendLatency } from "./append-latency.ts";
import type { BadLine, Cursor, EngineHealth, EventLog, ReadOptions, Stored } from "./engine.ts";
import { type JournalEvent, readEvent } from "./event.ts";
import { RecentIds, WINDOW_BYTES } from "./recent-ids.ts";

/** A watch may miss something: this often a follower looks by itself. */
const POLL_MS = 250;
/** Others get their turn after this many entries. */
const AT_ONCE = 2000;

export class EmbeddedLog implements EventLog {
  readonly #path: string;
  #appender: Appender | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async append(events: readonly JournalEvent[]): Promise<void> {
    this.#appender ??= new Appender(this.#path);
    const begun = performance.now();
    await this.#appender.append(events);
    appendLatency.durable.add((performance.now() - begun) / 1000);
  }

  async *read({ after, follow = false, signal = NEVER }: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    const reading = new Reading(after === undefined ? 0 : offsetOf(after));
    using waker = follow ? new Waker(dirname(this.#path), signal) : undefined;
    for (;;) {
      yield* reading.on(this.#path, signal);
      if (waker === undefined || signal.aborted) return;
      await waker.wait(POLL_MS);
      if (signal.aborted) return;
    }
  }

  async tail(lines: number): Promise<Cursor | undefined> {
    using source = FileSource.open(this.#path);
    const offset = source === undefined ? 0 : tailStart(source, wholeEnd(source, source.size()), lines);
    return offset === 0 ? undefined : String(offset);
  }

  async holds(cursor: Cursor): Promise<boolean> {
    if (!CURSOR.test(cursor)) return false;
    using source = FileSource.open(this.#path);
    return source !== undefined && isPlace(source, offsetOf(cursor), wholeEnd(source, source.size()));
  }

  async health(): Promise<EngineHealth> {
    const problems: string[] = [];
    try {
      accessSync(this.#path, constants.R_OK | constants.W_OK);
    } catch (error) {
      if (errno(error) !== "ENOENT") problems.push(`${this.#path} cannot be used: ${errno(error)}`);
    }
    return { engine: "embedded", durable: true, problems };
  }

  async close(): Promise<void> {
    this.#appender?.close();
    this.#appender = undefined;
  }
}
const NEVER = new AbortController().signal;

/** How far a reader has come. */
class Reading {
  #offset: number;
  #ids: RecentIds | undefined;
  /** Up to where lines were counted; only bad lines need a number. */
  #counted = { offset: 0, lines: 0 };

  constructor(offset: number) {
    this.#offset = offset;
  }

  async *on(path: string, signal: AbortSignal): AsyncGenerator<Stored | BadLine> {
    using source = FileSource.open(path);
    if (source === undefined) return;
    const end = wholeEnd(source, source.size());
    if (!isPlace(source, this.#offset, end)) this.#startOver();
    this.#ids ??= idsBefore(source, this.#offset);
    let n = 0;
    for (const entry of entries(source, this.#offset, end)) {
      this.#offset = entry.next;
      if (entry.event === undefined) yield this.#badLine(source, entry);
      else if (this.#ids.add(entry.event.id, entry.seq))
        yield { event: entry.event, seq: entry.seq, next: String(entry.next) };
      if (++n % AT_ONCE === 0) await breathe();
      if (signal.aborted) return;
    }
    this.#offset = end;
  }

  /** The file was replaced by another: all of it is new. */
  #startOver(): void {
    this.#offset = 0;
    this.#ids = undefined;
    this.#counted = { offset: 0, lines: 0 };
  }

  #badLine(source: FileSource, { seq, next, bad }: Extract<JournalLine, { event: undefined }>): BadLine {
    const log = new Log(source, new LineIndex(), { type: "line", json: true });
    this.#counted = { offset: seq, lines: this.#counted.lines + log.count(this.#counted.offset, seq) };
    return { bad: { line: this.#counted.lines + 1, seq, ...bad }, next: String(next) };
  }
}

/** Where a line of the file begins, or its end. */
function isPlace(source: FileSource, offset: number, end: number): boolean {
  return offset <= end && lineStartFrom(source, offset, end) === offset;
}

function idsBefore(source: FileSource, offset: number): RecentIds {
  const from = lineStartFrom(source, Math.max(0, offset - WINDOW_BYTES), offset);
  const bytes = Buffer.allocUnsafe(offset - from);
  source.read(bytes, from);
  const ids = function* (): Generator<{ id: string; seq: number }> {
    for (const { event, seq } of entries(new BufferSource(bytes), 0, bytes.length))
      if (event !== undefined) yield { id: event.id, seq: from + seq };
  };
  return new RecentIds({ bytes, ids });
}

const CURSOR = /^\d{1,15}$/;

function offsetOf(cursor: Cursor): number {
  if (CURSOR.test(cursor)) return Number(cursor);
  throw new MidwatchError("USAGE", `${quote(cursor)} is not a cursor of this journal.`, {
    hint: "A cursor is what an earlier read gave.",
  });
}

/** A line of the journal: where it begins, and where the next one does. */
type JournalLine = { seq: number; next: number } & (
  | { event: JournalEvent; bad: undefined }
  | { event: undefined; bad: Bad }
);

interface Bad {
  reason: string;
  /** A copy, at most 16 MiB. */
  bytes: Uint8Array;
  length: number;
}

/** What lies between two line starts: events, and what is none; the same bytes always give the same. Empty lines give nothing. */
function* entries(source: Source, from: number, end: number): Generator<JournalLine> {
  for (const line of forward(source, from, end)) if (!isBlank(line.bytes)) yield* entriesOf(line);
}

function* entriesOf(line: Line): Generator<JournalLine> {
  const { offset: seq, end: next, bytes } = line;
  if (line.truncated) {
    yield { seq, next, event: undefined, bad: badOf("longer than 16 MiB", bytes, next - seq - 1) };
    return;
  }
  const { event, reason } = readEvent(bytes, seq);
  if (event !== undefined) {
    yield { seq, next, event, bad: undefined };
    return;
  }
  const glued = behindTorn(bytes, seq);
  if (glued === undefined) yield { seq, next, event: undefined, bad: badOf(reason, bytes) };
  else {
    // In this order: whoever stops between the two goes on at the line's start, and loses neither.
    yield { seq: seq + glued.at, next: seq, event: glued.event, bad: undefined };
    yield { seq, next, event: undefined, bad: badOf("torn", bytes.subarray(0, glued.at)) };
  }
}

/**
 * A writer that is killed in mid-line, in the moment between another one's look at the tail and its write, leaves its torn line in
 * front of the other's whole one. Quotes inside an event are escaped, so the beginning of an event cannot stand in another.
 */
function behindTorn(bytes: Buffer, seq: number): { at: number; event: JournalEvent } | undefined {
  const at = Math.max(...BEGINNINGS.map((beginning) => bytes.lastIndexOf(beginning)));
  if (at <= 0) return undefined;
  const { event } = readEvent(bytes.subarray(at), seq + at);
  return event && { at, event };
}
const BEGINNINGS = ['{"v":1,', '{"interaction":'];

function badOf(reason: string, bytes: Uint8Array, length = bytes.length): Bad {
  return { reason, bytes: Uint8Array.from(bytes), length };
}
