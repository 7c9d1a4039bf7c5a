/**
 * One log: its lines by number, time or from the end, as records. Nothing here holds more than a chunk and a line, whatever the
 * size; the index makes it quick, the bytes decide.
 */
import type { Steps } from "../core/progress.ts";
import { ArchiveSource } from "./archive-source.ts";
import { LineIndex } from "./line-index.ts";
import { backward, forward, LINE_MAX, type Line, recordsStart, tailStart, wholeEnd } from "./lines.ts";
import { type LogRecord, type RecordOptions, toRecord } from "./record.ts";
import { isBlank, withScanner } from "./scanner.ts";
import { FileSource, type Source } from "./source.ts";

export interface LogPlace {
  offset: number;
  /** Lines before `offset`; null when nobody has counted. */
  line: number | null;
}

/** A line and its record; an empty line has none. The line's bytes are valid until the next one is asked for. */
export interface Read {
  record: LogRecord | undefined;
  raw: Line;
  /** Where the rest of a line that is longer than `raw` holds can be read, as long as its bytes are valid. */
  source: Source;
}

export type Matches = (line: Uint8Array) => boolean;

/** Counting this much without an index takes a moment; more is not worth a line number. */
const COUNT_MAX = 1 << 30;
const CHUNK = 1 << 20;
const STEP_BYTES = 64 << 20;

export class Log implements Disposable {
  readonly source: Source;
  readonly index: LineIndex;
  readonly options: RecordOptions;

  constructor(source: Source, index: LineIndex, options: RecordOptions) {
    this.source = source;
    this.index = index;
    this.options = options;
  }

  /** Undefined when there is no such file yet. A name ending in .zst is an archive. */
  static open(path: string, indexPath: string | undefined, options: RecordOptions): Log | undefined {
    const source = path.endsWith(".zst") ? ArchiveSource.open(path) : FileSource.open(path);
    if (source === undefined) return undefined;
    try {
      return new Log(source, indexPath === undefined ? new LineIndex() : LineIndex.open(indexPath), options);
    } catch (error) {
      source.close();
      throw error;
    }
  }

  close(): void {
    this.source.close();
    this.index.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** What a reader may see: of a living run only whole lines. */
  end(live: boolean): number {
    const size = this.source.size();
    return live ? wholeEnd(this.source, size) : size;
  }

  /** Where the last `count` lines begin. */
  tail(count: number, end: number): LogPlace {
    const offset = tailStart(this.source, end, count);
    return { offset, line: this.lineAt(offset) };
  }

  /** Where the last `count` records begin. */
  tailRecords(count: number, end: number): LogPlace {
    const offset = recordsStart(this.source, end, count);
    return { offset, line: this.lineAt(offset) };
  }

  /** The last `count` lines that match, oldest first; looks back no further than `from`. */
  tailMatching(count: number, from: number, end: number, matches: Matches): Line[] {
    const found: Line[] = [];
    for (const span of backward(this.source, end)) {
      if (found.length >= count || span.start < from) break;
      const bytes = Buffer.allocUnsafe(Math.min(span.end - span.start, LINE_MAX));
      this.source.read(bytes, span.start);
      if (!matches(bytes)) continue;
      const whole = span.end < end;
      found.push({
        offset: span.start,
        end: span.end + (whole ? 1 : 0),
        bytes,
        whole,
        truncated: span.end - span.start > LINE_MAX,
      });
    }
    return found.reverse();
  }

  /** Where line `line` (from 0) begins; the end when there are fewer. */
  atLine(line: number, end: number): LogPlace {
    const near = this.index.before("line", line, this.source);
    return this.#skip(near, line - near.line, end);
  }

  #skip(near: { offset: number; line: number }, lines: number, end: number): LogPlace {
    if (lines <= 0) return near;
    return withScanner(CHUNK, (scanner) => {
      let left = lines;
      for (let at = near.offset; at < end; ) {
        const n = this.source.read(scanner.bytes.subarray(0, Math.min(CHUNK, end - at)), at);
        if (n === 0) break;
        const found = scanner.skipLines(0, n, left);
        if (found >= 0) return { offset: at + found, line: near.line + lines };
        left -= -1 - found;
        at += n;
      }
      return { offset: end, line: near.line + lines - left };
    });
  }

  /** A line start before which everything was printed before `timeMs`. */
  atTime(timeMs: number): LogPlace {
    return this.index.before("timeMs", timeMs - 1, this.source);
  }

  /** How many lines lie before `offset`, a line's start; null when counting would take too long. */
  lineAt(offset: number): number | null {
    const near = this.index.before("offset", offset, this.source);
    return offset - near.offset > COUNT_MAX ? null : near.line + this.count(near.offset, offset);
  }

  /** Newlines in [from, to). */
  count(from: number, to: number): number {
    return withScanner(CHUNK, (scanner) => {
      let lines = 0;
      for (let at = from; at < to; ) {
        const n = this.source.read(scanner.bytes.subarray(0, Math.min(CHUNK, to - at)), at);
        if (n === 0) break;
        lines += scanner.countNewlines(0, n);
        at += n;
      }
      return lines;
    });
  }

  /** Lines, and those that give a record (the empty ones do not). */
  *counts(end: number): Steps<{ lines: number; records: number; bytes: number; partial: boolean }> {
    let lines = 0;
    let records = 0;
    let partial = false;
    let told = 0;
    for (const line of forward(this.source, 0, end)) {
      lines++;
      if (!isBlank(line.bytes)) records++;
      partial = !line.whole;
      if (line.end - told > STEP_BYTES) {
        told = line.end;
        yield told;
      }
    }
    return { lines, records, bytes: end, partial };
  }

  /** Every line from a place on, with its record. */
  *records(from: LogPlace, end: number): Generator<Read> {
    let line = from.line;
    const times = this.#times(from.offset);
    for (const raw of forward(this.source, from.offset, end)) {
      if (line !== null) line++;
      yield { record: toRecord(raw, line, times(raw.end), this.options), raw, source: this.source };
    }
  }

  /** A record of a line found elsewhere (by a filter or a search). */
  record(line: Line): LogRecord | undefined {
    const before = this.lineAt(line.offset);
    return toRecord(line, before === null ? null : before + 1, this.#times(line.offset)(line.end), this.options);
  }

  /** When the line that ends at `end` was seen; 0 = unknown. */
  timeAt(end: number): number {
    return this.#times(end)(end);
  }

  /** When a line was seen, for ends in ascending order: the time of the first entry at or behind its end. */
  #times(offset: number): (end: number) => number {
    let i = this.index.firstFrom(offset);
    let entry = i < this.index.length ? this.index.entry(i) : undefined;
    return (end) => {
      while (entry !== undefined && entry.offset < end)
        entry = ++i < this.index.length ? this.index.entry(i) : undefined;
      return entry?.timeMs ?? 0;
    };
  }
}
