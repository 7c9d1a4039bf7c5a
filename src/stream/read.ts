/** Reading what an agent printed: from a run's number to its log wherever it is now, then page, tail, filter and follow. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import { replaceFastInside } from "../disk/write-inside.ts";
import { readFacts } from "../facts/facts.ts";
import { type LogPath, openAt } from "../facts/log-path.ts";
import { hasEnded } from "../facts/observe.ts";
import { hasLater, runNumbers } from "../facts/run-numbers.ts";
import { buildIndex } from "../log/build-index.ts";
import { lineFilter } from "../log/filter.ts";
import { follow, type Look } from "../log/follow.ts";
import { LineIndex } from "../log/line-index.ts";
import { tailStart } from "../log/lines.ts";
import { Log, type Matches, type Place, type Read } from "../log/log.ts";
import type { LogRecord } from "../log/record.ts";
import { isBlank } from "../log/scanner.ts";
import { BufferSource, type Source } from "../log/source.ts";
import type { Context } from "../workspace/context.ts";

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

/** Which agent and run to read. */
export interface LogOf {
  task: TaskId;
  agent: AgentId;
  run: number;
  /** The newest run's number: its files are in logs/. */
  newest: number;
  stderr: boolean;
  /** The driver's CLI speaks JSON, so a line that is none is an error. */
  json: boolean;
}

const NEVER = new AbortController().signal;

export async function* readLog(context: Context, of: LogOf, options: LogOptions): AsyncGenerator<LogItem> {
  const signal = options.signal ?? NEVER;
  const matches = options.grep === undefined ? undefined : lineFilter(options.grep);
  const wanted = (record: LogRecord | undefined): boolean =>
    options.sinceMs === undefined || timeOf(record) >= options.sinceMs;
  const { log, live } = lookAt(context, of, of.run);
  let place: Place = { offset: 0, line: 0 };
  try {
    if (log !== undefined) {
      const end = log.end(live);
      for (const item of select(log, end, options, matches)) {
        if (wanted(item.record)) yield { agent: of.agent, run: of.run, ...item };
        if (signal.aborted) return;
      }
      place = { offset: end, line: log.lineAt(end) };
    }
  } finally {
    log?.close();
  }
  const forever = options.forever === true;
  if (!forever && (options.follow !== true || !live)) return;
  const folder = dirname(context.layout.agent(of.task, of.agent).log);
  for await (const item of follow({ run: of.run, place }, (run) => lookAt(context, of, run), {
    folder,
    forever,
    signal,
  })) {
    if ((matches === undefined || matches(item.raw.bytes)) && wanted(item.record)) yield { agent: of.agent, ...item };
  }
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
  const signal = options.signal ?? NEVER;
  let at: number | undefined;
  for (;;) {
    const { log, live } = lookAt(context, of, of.run);
    try {
      if (log !== undefined) {
        const end = options.follow === true ? log.end(live) : log.source.size();
        const head = of.run > 1 && !of.stderr ? markerLength(log) : 0;
        at ??= options.lines === undefined ? head : Math.max(head, tailStart(log.source, end, options.lines));
        while (at < end && !signal.aborted) {
          const chunk = Buffer.allocUnsafe(Math.min(CHUNK, end - at));
          const n = log.source.read(chunk, at);
          if (n === 0) break;
          yield chunk.subarray(0, n);
          at += n;
        }
      }
    } finally {
      log?.close();
    }
    if (options.follow !== true || !live || signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const MARKER = '{"type":"lifecycle","event":"agent_restart"';

function markerLength({ source }: Log): number {
  const head = Buffer.alloc(256);
  const n = source.read(head, 0);
  const end = head.subarray(0, n).indexOf(10);
  return head.toString("latin1", 0, n).startsWith(MARKER) && end >= 0 ? end + 1 : 0;
}

/** The log of a run as it is on disk now, and whether more can come. */
export function lookAt(context: Context, of: LogOf, run: number): Look {
  const { layout } = context;
  const facts = readFacts(layout.run(of.task, of.agent, run));
  const live = facts.intent !== undefined && !hasEnded(facts);
  const next = runNumbers(context, of).find((n) => n > run && existsSync(layout.run(of.task, of.agent, n).start));
  const open = (newest: boolean): Log | undefined =>
    openAt(layout, { ...of, run, newest }, (at) => openLog(layout.root, at, of, live));
  const isNewest = (): boolean => run >= of.newest && !hasLater(context, { ...of, run });
  const newest = isNewest();
  const log = open(newest);
  // A restart moves this run's log away, writes the intent, and only then is the next one's made under the same name: what was opened
  // may be that one.
  let ours = false;
  try {
    ours = !newest || isNewest();
    if (ours) return { run, log, live, next };
  } finally {
    if (!ours) log?.close();
  }
  return { run, log: open(false), live, next };
}

/** Below this a scan is as quick as an index. */
const INDEX_BYTES = 4 << 20;

function openLog(root: string, paths: LogPath, of: LogOf, live: boolean): Log | undefined {
  const options = { type: of.stderr ? "stderr" : "stdout", json: of.json && !of.stderr } as const;
  const log = Log.open(paths.log, of.stderr ? undefined : paths.index, options);
  if (log === undefined || of.stderr) return log;
  try {
    const size = log.source.size();
    if (log.index.fits(log.source) && (log.index.length > 0 || live || size < INDEX_BYTES)) return log;
    const index = live ? new LineIndex() : remadeIndex(root, paths.index, log.source); // Of a living one its keeper is at it.
    log.index.close();
    return new Log(log.source, index, options);
  } catch (error) {
    log.close(); // A damaged archive: each look at it would keep a descriptor.
    throw error;
  }
}

function remadeIndex(root: string, path: string, source: Source): LineIndex {
  const entries = buildIndex(source, source.size());
  try {
    replaceFastInside(root, path, entries);
  } catch {
    // A disk that cannot be written: the index serves this reader and is gone.
  }
  return new LineIndex(new BufferSource(entries));
}

export function assertRun(context: Context, of: LogOf): void {
  // The newest may be so new that its launcher has not written the intent yet: then its log is empty.
  if (of.run === of.newest || readFacts(context.layout.run(of.task, of.agent, of.run)).intent !== undefined) return;
  throw new MidwatchError("NOT_FOUND_RUN", `${of.agent} has no run ${of.run}.`, {
    hint: `midwatch show ${of.agent} lists its runs.`,
  });
}
