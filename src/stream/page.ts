/** One window of a log, bounded in lines and bytes: what the page and followers are sent. Records are masked as `logs` masks them. */
import type { AgentId } from "../core/ids.ts";
import type { Look } from "../log/follow.ts";
import { lineStartFrom } from "../log/lines.ts";
import type { Log, Place } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import type { Context } from "../workspace/context.ts";
import type { Maskers } from "./maskers.ts";
import { type LogItem, type LogOf, lookAt } from "./read.ts";

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
  next: Place;
}

/** A longer line is shown by its beginning. */
const LINE_MOST = 128 << 10;
const PAGE_BYTES = 3 << 20;

export function readPage(context: Context, of: LogOf, options: PageOptions, hide: Maskers): Page {
  const { log, live } = lookAt(context, of, of.run);
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
  try {
    const bytes = log.end(live);
    const from = placeOf(log, bytes, options);
    const { records, next } = readWindow(log, of, from, bytes, { lines: options.limit, bytes: PAGE_BYTES }, hide);
    return { ...none, lines: log.lineAt(bytes), bytes, first_line: from.line, records, next };
  } finally {
    log.close();
  }
}

function placeOf(log: Log, end: number, { line, offset, timeMs, tail, limit }: PageOptions): Place {
  if (tail) return log.tail(limit, end);
  if (line !== undefined) return log.atLine(line, end);
  if (timeMs !== undefined) return log.atTime(timeMs);
  return offset === undefined ? { offset: 0, line: 0 } : atOffset(log, Math.min(offset, end), end);
}

function atOffset(log: Log, offset: number, end: number): Place {
  const start = lineStartFrom(log.source, offset, end);
  return { offset: start, line: log.lineAt(start) };
}

/** Records from a line's start on, as many as fit; at least one line, so that reading always goes on. */
function readWindow(
  log: Log,
  { agent, run }: Pick<LogOf, "agent" | "run">,
  from: Place,
  end: number,
  most: { lines: number; bytes: number },
  hide: Maskers,
): { records: LogRecord[]; next: Place } {
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

/** One look at a run's log, to be read from by several followers; it is valid until it is closed. */
export interface Glance extends Disposable {
  run: number;
  live: boolean;
  next: number | undefined;
  /** What may be read now ends here. */
  end: number;
  /** Where a follower that comes with an offset goes on; undefined when no line begins there. */
  place(offset: number): Place | undefined;
  read(from: Place, most: { lines: number; bytes: number }): { records: LogRecord[]; next: Place };
}

function endOf(log: Log | undefined, live: boolean): number {
  try {
    return log?.end(live) ?? 0;
  } catch (error) {
    log?.close();
    throw error;
  }
}

export function glance(context: Context, of: LogOf, run: number, hide: Maskers): Glance {
  const { log, live, next }: Look = lookAt(context, of, run);
  const end = endOf(log, live);
  return {
    run,
    live,
    next,
    end,
    place: (offset) => {
      if (log === undefined || offset === 0) return offset === 0 ? { offset: 0, line: 0 } : undefined;
      const found = offset <= end ? atOffset(log, offset, end) : undefined;
      return found?.offset === offset ? found : undefined;
    },
    read: (from, most) =>
      log === undefined
        ? { records: [], next: from }
        : readWindow(log, { agent: of.agent, run }, from, end, most, hide),
    [Symbol.dispose]: () => log?.close(),
  };
}
