/** Reading a JSONL file that anybody may write, rotate or truncate: adapters of the log engine, for programs. */
import { dirname, resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import {
  type JsonlCount,
  type JsonlReading,
  jsonlCount,
  jsonlEnd,
  jsonlPage,
  jsonlRecords,
  jsonlTail,
  jsonlVerify,
  type Read,
} from "../log/jsonl/jsonl.ts";
import { type LogRecord, toRecord } from "../log/record.ts";
import type { Verified } from "../log/verify.ts";
import { Waker } from "../log/waker.ts";
import type { CursorRow } from "../registry/registry.ts";
import { readNewLines } from "./file-reader.ts";
import { HeldFiles } from "./held-files.ts";

/** A record that came while the file was followed. `seq` counts the lines that were read, in all generations. */
export interface FollowedRecord extends Omit<LogRecord, "offset"> {
  /** Goes up by one each time the file was rotated, replaced or truncated. */
  generation: number;
  /** Bytes that were gone before they could be read, in all generations. */
  missed_bytes: number;
}

/** What a reader gives of a file that has no newline at its end. */
export interface JSONLReaderOptions {
  /**
   * The last line, too, when it has no newline and is no whole object: a writer may be at work on it, or has died over it. Without this it
   * comes with the first read that finds it whole.
   */
  unfinished?: boolean;
}

/** Where to begin, and what ends it. */
export interface JSONLFollowOptions {
  /** What is there already comes first, or not at all. */
  from?: "start" | "end";
  signal?: AbortSignal;
}

const FIRST_POLL_MS = 20;
const POLL_MS = 200;
const NEVER = new AbortController().signal;
/** The place is nobody's but this reader's. */
const NOBODY = "" as AgentId;

/** Reads one JSONL file, also one that midwatch archived (.zst). A line that is no JSON gives a `parse_error`, an empty one nothing, one that is being written nothing yet; a file that is not there has no records. */
export class JSONLReader {
  /** As it was given, made absolute. */
  readonly path: string;
  readonly #reading: JsonlReading;

  constructor(path: string, { unfinished = false }: JSONLReaderOptions = {}) {
    this.path = resolve(path);
    this.#reading = { settled: !unfinished };
  }

  /** The last records, exactly as many as asked for, at a cost that does not grow with the file. */
  tail(count = 100): LogRecord[] {
    return [...recordsOf(jsonlTail(this.path, count, { records: true, ...this.#reading }))];
  }

  /** The records of some lines, by number. */
  page({ offset = 0, limit = 100 }: { offset?: number; limit?: number } = {}): LogRecord[] {
    return [...recordsOf(jsonlPage(this.path, offset, limit, this.#reading))];
  }

  /** All records, read as they are asked for. */
  records(): Generator<LogRecord> {
    return recordsOf(jsonlRecords(this.path, this.#reading));
  }

  /** Lines, records and bytes. Throws NOT_FOUND_FILE. */
  async count(): Promise<JsonlCount> {
    return await jsonlCount(this.path);
  }

  /** Whether every line is JSON, and which are not. Throws NOT_FOUND_FILE. */
  async verify(): Promise<Verified> {
    return await jsonlVerify(this.path);
  }

  /** Each record as it comes, once, until the signal ends it: through rotation by rename, copy + truncate, and deletion. */
  async *follow({ from = "start", signal = NEVER }: JSONLFollowOptions = {}): AsyncGenerator<FollowedRecord> {
    using files = new HeldFiles();
    using waker = new Waker(dirname(this.path), signal);
    let cursor = from === "end" ? this.#end() : undefined;
    for (let pause = FIRST_POLL_MS; !signal.aborted; ) {
      const batch = readNewLines(NOBODY, this.path, cursor, files);
      cursor = batch.cursor;
      const { generation, missed_bytes, line } = cursor;
      for (const [i, text] of batch.lines.entries()) {
        const found = followed(text, line - batch.lines.length + i + 1);
        if (found !== undefined) yield { ...found, generation, missed_bytes };
        if (signal.aborted) return;
      }
      pause = batch.lines.length > 0 ? FIRST_POLL_MS : Math.min(pause * 2, POLL_MS);
      if (!batch.more) await waker.wait(pause);
    }
  }

  #end(): CursorRow | undefined {
    const end = orNothing(() => jsonlEnd(this.path));
    if (end === undefined) return undefined;
    const zero = { checksum: 0, generation: 1, missed_bytes: 0, file: null, updated_at: iso() };
    return { agent: NOBODY, log: this.path, run: 0, ...end, ...zero };
  }
}

function followed(text: string, seq: number): Omit<LogRecord, "offset"> | undefined {
  const bytes = Buffer.from(text);
  const record = toRecord({ offset: 0, end: 0, bytes, whole: true, truncated: false }, seq, 0, {
    type: "line",
    json: true,
  });
  if (record === undefined) return undefined;
  const { offset: _, ...rest } = record;
  return rest;
}

function* recordsOf(lines: Generator<Read>): Generator<LogRecord> {
  try {
    for (const { record } of lines) if (record !== undefined) yield record;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function orNothing<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof MidwatchError && error.code === "NOT_FOUND_FILE";
}
