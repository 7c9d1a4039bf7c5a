/**
 * What one run's stream has told so far. Each line is parsed once, by its driver, as the log grows; who wants more than the result
 * listens. All of it is made from the log up to the place and kept in memory only. After a restart the lines before the place are read
 * once more, at most the last 32 MiB of them: so nothing but the place has to be stored, and a reader that is killed anywhere
 * loses nothing.
 */
import { setImmediate as breathe } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { iso, parseRfc3339 } from "../core/time.ts";
import type { Activity, Driver, SessionUse, StreamReader, StreamResult } from "../drivers/driver.ts";
import { NO_TOKENS, sizeOf } from "../drivers/stream.ts";
import { lineStartFrom, lineSum } from "../log/lines.ts";
import type { Log, LogPlace } from "../log/log.ts";
import { ReadMark } from "../log/read-mark.ts";
import type { LogRecord } from "../log/record.ts";
import type { Source } from "../log/source.ts";
import type { AsideFiles } from "./aside-files.ts";
import { withBesides } from "./besides.ts";
import type { RunLog } from "./run-log.ts";

/** How far it was read: whole lines, and the checksum of all their bytes. */
export interface StreamPlace {
  offset: number;
  line: number;
  checksum: number;
  /** How often it was cut, and one. */
  generation: number;
  missed_bytes: number;
  updated_at: string;
}

export interface StreamOptions {
  driver: Driver;
  /** What its CLI had counted for the session that it resumes. */
  before: SessionUse | null;
  listener?: StreamListener | undefined;
  /** What its CLI writes beside the stream. */
  aside?: AsideFiles | undefined;
}

/** Hears what each line told, in order; `atMs` is when the line was printed. */
export type StreamListener = (activities: readonly Activity[], record: LogRecord, atMs: number | null) => void;

/** What is money, or nearly. */
export type Counted = Pick<StreamResult, "tokens" | "cost_usd">;

/** The log is opened to be read and closed again: a process may read hundreds. */
type LogToRead = Pick<RunLog, "open" | "close" | "isUnchanged">;

const AGAIN_BYTES = 32 << 20;
/** Read at a stretch: whoever else is served by this process waits that long. */
const STRETCH_BYTES = 32 << 10;

const ignore = (): void => undefined;

export class StreamState {
  readonly #log: LogToRead;
  readonly #driver: Driver;
  readonly #reader: StreamReader;
  readonly #listener: StreamListener | undefined;
  readonly #aside: AsideFiles | undefined;
  #place: StreamPlace = { offset: 0, line: 0, checksum: 0, generation: 1, missed_bytes: 0, updated_at: iso() };
  #received = 0;
  #bad = { count: 0, first: null as { line_number: number | null; error: string } | null };
  #version = 0;
  #turn: Promise<void> = Promise.resolve();
  /** Of what was read up to the place. */
  #mark: ReadMark | undefined;
  /** There is more in the log than was read. */
  #more = true;
  /** Counted before the part that was read again; only of a log that is longer than that. */
  #counted: Counted | null = null;

  constructor(log: LogToRead, { driver, before, listener, aside }: StreamOptions) {
    this.#log = log;
    this.#driver = driver;
    this.#reader = driver.reader(before);
    this.#listener = listener;
    this.#aside = aside;
  }

  get place(): StreamPlace {
    return this.#place;
  }

  get result(): StreamResult {
    const told = this.#told;
    return this.#aside === undefined ? told : withBesides(told, this.#aside.used);
  }

  get #told(): StreamResult {
    const result = this.#reader.result();
    if (this.#counted === null) return result;
    // Of a run that was taken up in mid-stream the greater count is nearer: its end is counted from the whole stream.
    const { tokens, cost_usd } = this.#counted;
    if (tokens === null || sizeOf(tokens) <= sizeOf(result.tokens ?? NO_TOKENS)) return result;
    const cost = cost_usd ?? result.cost_usd;
    return { ...result, tokens, cost_usd: cost, uncosted: cost === null ? [{ model: result.model, tokens }] : [] };
  }

  /** Every line was read, not the last ones only. */
  get isWhole(): boolean {
    return this.#counted === null;
  }

  /** Messages that the CLI said it has taken up. */
  get received(): number {
    return this.#received;
  }

  /** Takes up where another process stopped: what lies before the place is read for what it says, not counted again. */
  takeUp(place: StreamPlace, counted: Counted): void {
    try {
      const log = this.#log.open(true);
      this.#place = place;
      const end = place.offset;
      if (log === undefined || !isThere(log.source, place)) return;
      this.#mark = new ReadMark(log.source, end);
      const from = end > AGAIN_BYTES ? lineStartFrom(log.source, end - AGAIN_BYTES, end) : 0;
      const start: LogPlace = { offset: from, line: from === 0 ? 0 : log.lineAt(from) };
      for (const { record } of log.records(start, end)) this.#take(record);
      if (from > 0) this.#counted = counted;
    } finally {
      this.#log.close();
    }
  }

  /** Whole lines that should be JSON and are not, as far as they were read, and the first of them. */
  get bad(): { count: number; first: { line_number: number | null; error: string } | null } {
    return this.#bad;
  }

  /** Another one when more was read, by whomever. */
  get version(): number {
    return this.#version;
  }

  /** Whether a living run has told more than was read, by a stat a file. */
  hasNews(): boolean {
    return this.#more || !this.#log.isUnchanged() || (this.#aside?.hasNews(this.#reader.result().session) ?? false);
  }

  /** Reads on, at most so many bytes but a whole line in any case; of a living run whole lines only. True when there is more. */
  async readOn(live: boolean, bytes: number = Number.POSITIVE_INFINITY): Promise<boolean> {
    // One after the other: they would close each other's log.
    const turn = this.#turn.then(async () => {
      const more = await this.#readOn(live, bytes);
      return (await this.#readAside(live)) || more;
    });
    this.#turn = turn.then(ignore, ignore);
    return await turn;
  }

  async #readOn(live: boolean, bytes: number): Promise<boolean> {
    if (bytes <= 0) return true;
    if (!this.#more && live && this.#log.isUnchanged()) return false;
    try {
      const log = this.#log.open(live);
      if (log === undefined) return false;
      // Of a log that grows faster than it is read, what is there now.
      const end = log.end(live);
      if (!this.#goOn(log, end)) return false;
      const most = this.#place.offset + bytes;
      do {
        const { offset } = this.#place;
        this.#more = this.#readStretch(log, end, Math.min(bytes, STRETCH_BYTES));
        if (this.#place.offset !== offset) await breathe();
      } while (this.#more && most - this.#place.offset >= STRETCH_BYTES);
      return this.#more;
    } finally {
      this.#log.close();
    }
  }

  async #readAside(live: boolean): Promise<boolean> {
    const { session } = this.#reader.result();
    for (;;) {
      const { bytes, more } = this.#aside?.read(session, !live) ?? { bytes: 0, more: false };
      if (bytes > 0) this.#version++;
      if (!more || live) return more;
      await breathe();
    }
  }

  /** False: there is nothing to read on in just now. */
  #goOn(log: Log, end: number): boolean {
    const { offset, line, generation, missed_bytes } = this.#place;
    const unknown = isThere(log.source, this.#place) ? offset : 0; // Cut while nobody read it.
    const goesOn = this.#mark === undefined ? unknown : this.#mark.goOn(log.source, end);
    if (goesOn === undefined) return false;
    if (goesOn !== offset) {
      const at = { offset: goesOn, line: goesOn === 0 ? 0 : (log.lineAt(goesOn) ?? line) };
      const place = { ...at, checksum: sumTo(log.source, goesOn) };
      this.#place = { ...place, generation: generation + 1, missed_bytes, updated_at: iso() };
      this.#mark = new ReadMark(log.source, goesOn);
      this.#version++;
    }
    return true;
  }

  #readStretch(log: Log, end: number, bytes: number): boolean {
    const start = this.#place;
    let { offset, line, checksum } = start;
    let more = false;
    for (const { record, raw } of log.records({ offset, line }, end)) {
      more = offset > start.offset && raw.end - start.offset > bytes;
      if (more) break;
      line++;
      checksum = lineSum(checksum, raw);
      offset = raw.end;
      this.#take(record);
    }
    if (offset > start.offset) {
      this.#place = { ...start, offset, line, checksum, updated_at: iso() };
      this.#mark = new ReadMark(log.source, offset);
      this.#version++;
    }
    return more;
  }

  #take(record: LogRecord | undefined): void {
    if (record === undefined) return;
    if (record.type === "parse_error" && record.partial === undefined) {
      const { line_number = null, error = "" } = record;
      this.#bad = { count: this.#bad.count + 1, first: this.#bad.first ?? { line_number, error } };
    }
    const atMs = record.timestamp ? (parseRfc3339(record.timestamp) ?? null) : null;
    const activities = understand(this.#driver, this.#reader, record, atMs);
    for (const activity of activities)
      if (activity.kind === "note" && activity.name === "message_received") this.#received++;
    if (activities.length > 0) this.#listener?.(activities, record, atMs);
  }
}

/** Whether what was read up to a place is still what lies before it. A long log is believed as far as its size goes. */
function isThere(source: Source, { offset, checksum }: StreamPlace): boolean {
  if (source.size() < offset) return false;
  return offset > AGAIN_BYTES || sumTo(source, offset) === checksum;
}

function sumTo(source: Source, offset: number): number {
  const piece = Buffer.allocUnsafe(Math.min(offset, 1 << 20));
  let sum = 0;
  for (let at = 0, n = 1; at < offset && n > 0; at += n) {
    n = source.read(piece.subarray(0, Math.min(piece.length, offset - at)), at);
    sum = crc32(piece.subarray(0, n), sum);
  }
  return sum;
}

/** What a line of a log says, as its driver reads it. Our own lines say nothing. */
export function understand(
  { json }: Pick<Driver, "json">,
  reader: StreamReader,
  { type, data, text, raw_content, b64 }: LogRecord,
  atMs: number | null,
): readonly Activity[] {
  if (type === "lifecycle") return [];
  const line = data === undefined ? (text ?? raw_content ?? b64 ?? "") : json ? data : JSON.stringify(data);
  return reader.read(line, atMs);
}
