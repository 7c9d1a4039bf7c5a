/** Is a log sound? Every line (JSON where JSON is expected), the torn tail, and the index entry by entry against the bytes. */
import type { Steps } from "../core/progress.ts";
import type { IndexEntry, LineIndex } from "./line-index.ts";
import { LINE_MAX } from "./lines.ts";
import type { Log } from "./log.ts";
import { toRecord } from "./record.ts";
import { makeScanner, NEWLINE, type Scanner } from "./scanner.ts";

interface BadLine {
  line_number: number;
  offset: number;
  error: string;
}

export interface Verified {
  ok: boolean;
  lines: number;
  bytes: number;
  /** The first 100. */
  bad: BadLine[];
  bad_count: number;
  /** The last line has no newline. */
  partial: boolean;
  index: "ok" | "stale" | "wrong" | "none";
}

const BAD_SHOWN = 100;
const CHUNK = 512 << 10;
const STEP_BYTES = 64 << 20;
/** An index that ends further back than this was left behind: its keeper is gone, or the file grew without one. */
const STALE_BYTES = 64 << 20;

/** `end`: of a living run only its whole lines. */
export function* verify(log: Log, end: number): Steps<Verified> {
  using scanner = makeScanner(CHUNK + LINE_MAX + CHUNK);
  return yield* verifyWith(scanner, log, end);
}

/**
 * One pass, a chunk at a time. Chunks are read at CHUNK, on a page; the line that a chunk leaves unfinished is moved to just
 * before it. A line that fills more than a chunk grows behind it, up to LINE_MAX; pages that no long line touches cost nothing.
 */
export function* verifyWith(scanner: Scanner, log: Log, end: number): Steps<Verified> {
  const { bytes } = scanner;
  const lines = new LineCheck(scanner, log);
  const index = new IndexCheck(log.index, end);
  let start = CHUNK;
  let filled = CHUNK;
  let at = 0;
  let told = 0;
  while (at < end) {
    const n = log.source.read(bytes.subarray(filled, filled + Math.min(CHUNK, end - at)), at);
    if (n === 0) break;
    index.add(scanner, filled, filled + n);
    const whole = filled + bytes.subarray(filled, filled + n).lastIndexOf(NEWLINE) + 1;
    filled += n;
    at += n;
    if (whole > filled - n) {
      lines.add(start, whole, at - filled);
      start = CHUNK - (filled - whole);
      bytes.copyWithin(start, whole, filled);
      filled = CHUNK;
    } else if (filled - start > LINE_MAX) {
      lines.tooLong = true;
      start = CHUNK;
      filled = CHUNK;
    }
    if (at - told > STEP_BYTES) {
      told = at;
      yield told;
    }
  }
  const partial = filled > start || lines.tooLong;
  if (partial) lines.addLast(start, filled, at - filled);
  const { count, bad, badCount } = lines;
  const state = index.result();
  return {
    ok: badCount === 0 && state !== "wrong",
    lines: count,
    bytes: end,
    bad,
    bad_count: badCount,
    partial,
    index: state,
  };
}

class LineCheck {
  count = 0;
  badCount = 0;
  readonly bad: BadLine[] = [];
  /** The beginning of the line that comes next is lost: longer than LINE_MAX, it is counted and not judged. */
  tooLong = false;
  readonly #scanner: Scanner;
  readonly #log: Log;

  constructor(scanner: Scanner, log: Log) {
    this.#scanner = scanner;
    this.#log = log;
  }

  /** Whole lines; `shift` makes an offset in the log from a position. */
  add(from: number, to: number, shift: number): void {
    let at = from;
    if (this.tooLong) {
      at = this.#scanner.skipLines(at, to, 1);
      this.count++;
      this.tooLong = false;
    }
    while (at < to) {
      const bad = this.#log.options.json ? this.#scanner.badLine(at, to) : -1;
      if (bad < 0) break;
      this.count += this.#scanner.countNewlines(at, bad);
      at = this.#scanner.skipLines(bad, to, 1);
      this.#judge(bad, at - 1, shift, true);
    }
    this.count += this.#scanner.countNewlines(at, to);
  }

  /** The last line, which has no newline. */
  addLast(from: number, to: number, shift: number): void {
    if (this.tooLong || !this.#log.options.json) this.count++;
    else this.#judge(from, to, shift, false);
  }

  /** The reader's own judgement, and its words. */
  #judge(from: number, to: number, shift: number, whole: boolean): void {
    this.count++;
    const bytes = this.#scanner.bytes.subarray(from, to);
    const offset = from + shift;
    const line = {
      offset,
      end: offset + bytes.length + (whole ? 1 : 0),
      bytes,
      whole,
      truncated: to - from > LINE_MAX,
    };
    const record = toRecord(line, this.count, 0, this.#log.options);
    if (record?.type !== "parse_error") return;
    this.badCount++;
    if (this.bad.length < BAD_SHOWN)
      this.bad.push({ line_number: this.count, offset, error: record.error ?? "not valid JSON" });
  }
}

/** Line count and CRC of the bytes between each two entries, as the bytes come by. */
class IndexCheck {
  readonly #index: LineIndex;
  readonly #end: number;
  #next = 0;
  /** The one that the bytes have yet to reach. */
  #entry: IndexEntry | undefined;
  #at = 0;
  #lines = 0;
  #crc = 0;
  #wrong = false;

  constructor(index: LineIndex, end: number) {
    this.#index = index;
    this.#end = end;
    this.#advance();
  }

  #advance(): void {
    this.#entry = this.#next < this.#index.length ? this.#index.entry(this.#next++) : undefined;
    this.#crc = 0;
    if (this.#entry !== undefined && (this.#entry.offset <= this.#at || this.#entry.offset > this.#end))
      this.#wrong = true;
  }

  add(scanner: Scanner, from: number, to: number): void {
    for (let at = from; at < to && this.#entry !== undefined && !this.#wrong; ) {
      const stop = Math.min(to, at + this.#entry.offset - this.#at);
      if (this.#entry.crc !== null) this.#crc = scanner.crc32c(this.#crc, at, stop);
      this.#lines += scanner.countNewlines(at, stop);
      this.#at += stop - at;
      at = stop;
      if (this.#at < this.#entry.offset) return;
      const { line, crc } = this.#entry;
      if (scanner.bytes[stop - 1] !== NEWLINE || this.#lines !== line || (crc !== null && this.#crc !== crc))
        this.#wrong = true;
      this.#advance();
    }
  }

  result(): Verified["index"] {
    if (this.#index.length === 0) return "none";
    if (this.#wrong || this.#entry !== undefined) return "wrong";
    return this.#end - this.#at > STALE_BYTES ? "stale" : "ok";
  }
}
