/** Reading what an agent printed, line by line or byte by byte: some of it, all of it, or on as it goes on. */
import type { AgentId } from "../core/ids.ts";
import { lineFilter } from "../log/filter.ts";
import { tailStart } from "../log/lines.ts";
import type { Log, LogPlace, Matches, Read } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import { isBlank } from "../log/scanner.ts";
import type { Context } from "../workspace/context.ts";
import { type FollowOptions, looks } from "./follow.ts";
import type { LogOf } from "./log-of.ts";
import { RunLog } from "./run-log.ts";

/** Which lines of a log: all of them, unless something is named. */
export interface LogOptions {
  /** The last N lines; all when undefined. */
  lines?: number | undefined;
  /** `lines` counts records: blank lines give none. */
  records?: boolean | undefined;
  /** Skip this many lines from the start, then give `limit`. */
  offset?: number | undefined;
  limit?: number | undefined;
  grep?: string | undefined;
  sinceMs?: number | undefined;
  follow?: boolean | undefined;
  /** Follow also through restarts: it ends with the signal only. */
  forever?: boolean | undefined;
  stderr?: boolean | undefined;
  run?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface LogItem extends Read {
  agent: AgentId;
  run: number;
}

const NEVER = new AbortController().signal;

export async function* readLog(context: Context, of: LogOf, options: LogOptions): AsyncGenerator<LogItem> {
  const { agent } = of;
  const matches = options.grep === undefined ? undefined : lineFilter(options.grep);
  const wanted = (record: LogRecord | undefined): boolean =>
    options.sinceMs === undefined || timeOf(record) >= options.sinceMs;
  const follow = followOptions(context, of, options);
  let place: LogPlace | undefined;
  for (let run: number | undefined = of.run; run !== undefined; ) {
    using opened = new RunLog(context, { ...of, run });
    let next: number | undefined;
    for await (const look of looks(opened, follow)) {
      const { log, end } = look;
      next = follow.forever ? look.next : undefined;
      if (log !== undefined) {
        if (look.cutTo !== undefined && place !== undefined)
          place = { offset: look.cutTo, line: log.lineAt(look.cutTo) };
        // Only the first look chooses; what comes later is read on from there.
        const items = place === undefined ? select(log, end, options, matches) : log.records(place, end);
        let lines = place?.line ?? null;
        for (const item of items) {
          if (lines !== null && item.raw.whole) lines++;
          const chosen = place === undefined || matches === undefined || matches(item.raw.bytes);
          if (chosen && wanted(item.record)) yield { agent, run, ...item };
          if (follow.signal.aborted) return;
        }
        // A log that was deleted is shorter for a moment, while it is made again.
        if (end > (place?.offset ?? -1)) place = { offset: end, line: place === undefined ? log.lineAt(end) : lines };
      }
      place ??= START;
      if (!follow.forever && options.follow !== true) return;
    }
    run = next;
    place = START;
  }
}

const START: LogPlace = { offset: 0, line: 0 };

function followOptions({ layout }: Context, { task }: LogOf, { forever, signal = NEVER }: LogOptions): FollowOptions {
  return { folder: layout.task(task).logs, forever, signal };
}

function* select(log: Log, end: number, options: LogOptions, matches: Matches | undefined): Generator<Read> {
  const from =
    options.offset !== undefined
      ? log.atLine(options.offset, end)
      : options.sinceMs !== undefined
        ? log.atTime(options.sinceMs)
        : { offset: 0, line: 0 };
  const to =
    options.offset !== undefined && options.limit !== undefined
      ? log.atLine(options.offset + options.limit, end).offset
      : end;
  if (options.lines !== undefined && matches !== undefined) {
    const counts: Matches = options.records ? (bytes) => !isBlank(bytes) && matches(bytes) : matches;
    for (const raw of log.tailMatching(options.lines, from.offset, to, counts)) {
      yield { record: log.record(raw), raw, source: log.source };
    }
    return;
  }
  let start = from;
  if (options.lines !== undefined) {
    const tail = options.records ? log.tailRecords(options.lines, to) : log.tail(options.lines, to);
    if (tail.offset > from.offset) start = tail;
  }
  for (const item of log.records(start, to)) if (matches === undefined || matches(item.raw.bytes)) yield item;
}

/** A line whose time nobody knows is shown rather than hidden; an empty one has none to ask for. */
function timeOf(record: LogRecord | undefined): number {
  if (record === undefined) return Number.NEGATIVE_INFINITY;
  return record.timestamp ? Date.parse(record.timestamp) : Number.POSITIVE_INFINITY;
}

const CHUNK = 256 << 10;

/** Exactly what the agent printed: an unfinished line included, the restart marker (ours) not. */
export async function* readRaw(context: Context, of: LogOf, options: LogOptions): AsyncGenerator<Uint8Array> {
  using opened = new RunLog(context, of);
  let at: number | undefined;
  for await (const look of looks(opened, followOptions(context, of, { signal: options.signal }))) {
    const { log, end: whole, cutTo } = look;
    if (log !== undefined) {
      if (at !== undefined) at = cutTo ?? at;
      const end = options.follow === true ? whole : log.source.size();
      const head = of.run > 1 && !of.stderr ? markerLength(log) : 0;
      at ??= options.lines === undefined ? head : Math.max(head, tailStart(log.source, end, options.lines));
      while (at < end && options.signal?.aborted !== true) {
        const chunk = Buffer.allocUnsafe(Math.min(CHUNK, end - at));
        const n = log.source.read(chunk, at);
        if (n === 0) break;
        yield chunk.subarray(0, n);
        at += n;
      }
    }
    if (options.follow !== true) return;
  }
}

const MARKER = '{"type":"lifecycle","event":"agent_restart"';

function markerLength({ source }: Log): number {
  const head = Buffer.alloc(256);
  const n = source.read(head, 0);
  const end = head.subarray(0, n).indexOf(10);
  return head.toString("latin1", 0, n).startsWith(MARKER) && end >= 0 ? end + 1 : 0;
}
