/** The log engine on any JSONL file, ours or not. */
import { realpathSync, statSync } from "node:fs";
import { MidwatchError, throwIfExhausted } from "../../core/errors.ts";
import { quote } from "../../core/ids.ts";
import { isFields } from "../../core/json.ts";
import { follow, type Progress } from "../../core/progress.ts";
import { errno } from "../../disk/fault.ts";
import { ArchiveSource } from "../archive-source.ts";
import { wholeEnd } from "../lines.ts";
import { Log, type Read } from "../log.ts";
import { type Verified, verify } from "../verify.ts";

export type { Read };

export interface JsonlCount {
  lines: number;
  records: number;
  bytes: number;
  partial: boolean;
}

/** How a file is read that somebody may be writing to. */
export interface JsonlReading {
  /** A last line without newline that is no whole object is held back: its writer may be at work on it. */
  settled?: boolean;
}

/** The last lines; with `records` blank ones, which give no record, do not count. */
export function* jsonlTail(
  path: string,
  count: number,
  { records = false, settled }: JsonlReading & { records?: boolean } = {},
): Generator<Read> {
  using log = open(path);
  const end = endOf(log, settled);
  yield* log.records(records ? log.tailRecords(count, end) : log.tail(count, end), end);
}

export function* jsonlPage(
  path: string,
  offset: number,
  limit: number,
  { settled }: JsonlReading = {},
): Generator<Read> {
  using log = open(path);
  const end = endOf(log, settled);
  const from = log.atLine(offset, end);
  yield* log.records(from, log.atLine(offset + limit, end).offset);
}

export function* jsonlRecords(path: string, { settled }: JsonlReading = {}): Generator<Read> {
  using log = open(path);
  yield* log.records({ offset: 0, line: 0 }, endOf(log, settled));
}

function endOf(log: Log, settled = false): number {
  const end = log.end(false);
  // Nobody writes to an archive: what is torn there stays so.
  if (!settled || log.source instanceof ArchiveSource) return end;
  const whole = wholeEnd(log.source, end);
  const [last] = log.records({ offset: whole, line: null }, end);
  // Only of an object does its own text tell that nothing is missing: the 1 may become a 12.
  return isFields(last?.record?.data) ? end : whole;
}

/** Where its whole lines end, and how many they are. */
export function jsonlEnd(path: string): { offset: number; line: number } {
  using log = open(path);
  const offset = log.end(true);
  return { offset, line: log.lineAt(offset) ?? 0 };
}

export async function jsonlCount(path: string, progress?: Progress): Promise<JsonlCount> {
  using log = open(path);
  return await follow(log.counts(log.end(false)), "counted", progress);
}

export async function jsonlVerify(path: string, progress?: Progress): Promise<Verified> {
  using log = open(path);
  return await follow(verify(log, log.end(false)), "checked", progress);
}

function open(path: string): Log {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && !stat.isFile())
      throw new MidwatchError("BAD_PATH", `${quote(path)} is not a plain file.`, { hint: "Name a JSONL file." });
    // A person named it: what the name leads to is meant.
    const log = stat && Log.open(realpathSync(path), undefined, { type: "line", json: true });
    if (log !== undefined) return log;
  } catch (error) {
    if (error instanceof MidwatchError) throw error;
    throwIfExhausted(error);
    // A name that is too long or has a NUL in it, a file of somebody else's.
    throw new MidwatchError("BAD_PATH", `${quote(path)} cannot be read (${errno(error) ?? "no such name"}).`, {
      hint: "Check the path, and who may read the file.",
      cause: error,
    });
  }
  throw new MidwatchError("NOT_FOUND_FILE", `There is no file ${quote(path)}.`, { hint: "Check the path." });
}
