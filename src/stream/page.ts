/** One window of a log, bounded in lines and bytes: what the page and followers are sent. Records are masked as `logs` masks them. */
import type { AgentId } from "../core/ids.ts";
import { lineStartFrom } from "../log/lines.ts";
import type { Log, LogPlace } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import type { Context } from "../workspace/context.ts";
import { type FollowOptions, looks } from "./follow.ts";
import type { LogOf } from "./log-of.ts";
import type { Maskers } from "./maskers.ts";
import type { LogItem } from "./read.ts";
import { type Look, RunLog } from "./run-log.ts";

export interface PageOptions {
  /** Begin behind this many lines, at this byte, at this time, or with the last `limit` lines; the beginning by default. */
  line?: number | undefined;
  offset?: number | undefined;
  timeMs?: number | undefined;
  tail?: boolean | undefined;
  limit: number;
}

/** A window of a log, and where the next begins. */
export interface Page {
  agent: AgentId;
  run: number;
  /** More may come. */
  live: boolean;
  /** Whole lines now; null where counting would take too long. */
  lines: number | null;
  bytes: number;
  /** Lines before the first record's. */
  first_line: number | null;
  records: LogRecord[];
  /** Where the next page begins. */
  next: LogPlace;
}

/** A longer line is shown by its beginning. */
const LINE_MOST = 128 << 10;
const PAGE_BYTES = 3 << 20;

export function readPage(context: Context, of: LogOf, options: PageOptions, hide: Maskers): Page {
  using opened = new RunLog(context, of);
  const { log, live, end: bytes } = opened.look();
  const none: Page = {
    agent: of.agent,
    run: of.run,
    live,
    lines: 0,
    bytes: 0,
    first_line: 0,
    records: [],
    next: { offset: 0, line: 0 },
  };
  if (log === undefined) return none;
  const from = placeOf(log, bytes, options);
  const { records, next } = readWindow(log, of, from, bytes, { lines: options.limit, bytes: PAGE_BYTES }, hide);
  return { ...none, lines: log.lineAt(bytes), bytes, first_line: from.line, records, next };
}

function placeOf(log: Log, end: number, { line, offset, timeMs, tail, limit }: PageOptions): LogPlace {
  if (tail) return log.tail(limit, end);
  if (line !== undefined) return log.atLine(line, end);
  if (timeMs !== undefined) return log.atTime(timeMs);
  return offset === undefined ? { offset: 0, line: 0 } : atOffset(log, Math.min(offset, end), end);
}

function atOffset(log: Log, offset: number, end: number): LogPlace {
  const start = lineStartFrom(log.source, offset, end);
  return { offset: start, line: log.lineAt(start) };
}

/** Records from a line's start on, as many as fit; at least one line, so that reading always goes on. */
function readWindow(
  log: Log,
  { agent, run }: Pick<LogOf, "agent" | "run">,
  from: LogPlace,
  end: number,
  most: { lines: number; bytes: number },
  hide: Maskers,
): { records: LogRecord[]; next: LogPlace } {
  const records: LogRecord[] = [];
  let next = from;
  let lines = 0;
  let bytes = 0;
  for (const item of log.records(from, end)) {
    const { raw } = item;
    const size = Math.min(raw.end - raw.offset, LINE_MOST);
    if (lines > 0 && (lines >= most.lines || bytes + size > most.bytes)) break;
    lines++;
    bytes += size;
    next = { offset: raw.end, line: next.line === null ? null : next.line + 1 };
    const record = shown({ agent, run, ...item }, hide);
    if (record !== undefined) records.push(record);
  }
  return { records, next };
}

function shown(item: LogItem, hide: Maskers): LogRecord | undefined {
  const { record, raw } = item;
  if (record === undefined || raw.bytes.length <= LINE_MOST) return hide.record(item);
  // Masked before it is cut: no half of a secret is left at the end.
  const text = hide.line(item).toString("utf8", 0, LINE_MOST);
  const { seq, offset, type, timestamp = null } = record;
  return { seq, offset, timestamp, type: type === "parse_error" ? "stdout" : type, text, truncated: true };
}

/** One run's log for several followers, each with a place of its own. */
export class SharedLog implements Disposable {
  readonly #log: RunLog;
  readonly #of: LogOf;
  readonly #folder: string;
  readonly #hide: Maskers;

  constructor(context: Context, of: LogOf, hide: Maskers) {
    this.#log = new RunLog(context, of);
    this.#of = of;
    this.#folder = context.layout.task(of.task).logs;
    this.#hide = hide;
  }

  /** As it was at the last look. */
  get now(): Look {
    return this.#log.now ?? this.#log.look();
  }

  /** A look now and each time that something has changed, until the run has ended. */
  looks(options: Pick<FollowOptions, "signal" | "gatherMs">): AsyncGenerator<Look> {
    return looks(this.#log, { ...options, folder: this.#folder });
  }

  /** Where a follower that comes with an offset goes on; undefined when no line begins there. */
  place(offset: number): LogPlace | undefined {
    const { log, end } = this.now;
    if (log === undefined || offset === 0) return offset === 0 ? { offset: 0, line: 0 } : undefined;
    const found = offset <= end ? atOffset(log, offset, end) : undefined;
    return found?.offset === offset ? found : undefined;
  }

  read(from: LogPlace, most: { lines: number; bytes: number }): { records: LogRecord[]; next: LogPlace } {
    const { log, end } = this.now;
    return log === undefined ? { records: [], next: from } : readWindow(log, this.#of, from, end, most, this.#hide);
  }

  [Symbol.dispose](): void {
    this.#log.close();
  }
}
