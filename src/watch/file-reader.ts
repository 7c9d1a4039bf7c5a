/**
 * New lines of a file that anybody may write, rotate, truncate or replace. A file is the same when device, inode, time of birth, its
 * first bytes and the bytes before the place are: each alone is fooled by one way of rotating. No line is read twice; what was gone
 * before it could be read is counted as missed. Nothing here throws over a file.
 */
import { readdirSync, statSync } from "node:fs";
import { dirname, join, parse } from "node:path";
import { crc32 } from "node:zlib";
import { throwIfExhausted } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { forward, lineStartFrom, lineSum, wholeEnd } from "../log/lines.ts";
import { type FileSource, isSameFile } from "../log/source.ts";
import type { CursorRow, FileMark } from "../registry/registry.ts";
import { type HeldFiles, type Looked, openFile } from "./held-files.ts";

/** Of one look at one file. */
const BYTES_MOST = 1 << 20;

type Restart = "rotated" | "replaced" | "truncated";

/** A file, and how many of its lines are read at once. */
interface Opened extends Looked {
  most: number;
}

export interface Batch {
  /** Whole lines; bytes that are no UTF-8 are replaced. */
  lines: string[];
  /** Lines read up to now, in all generations that the cursor tells of. */
  total: number;
  /** To be stored with what was made of the lines. */
  cursor: CursorRow;
  /** Why reading began anew, or went on in another file. */
  restarted: Restart | null;
  /** More can be read at once. */
  more: boolean;
  /** Why there is nothing to read. */
  note: string | null;
}

const HEAD_FIRST = 16;
const HEAD_STEPS = 7;
const TAIL_BYTES = 1024;
/** A folder with more files than this is not searched for a renamed one. */
const ENTRIES_MAX = 5000;

export function readNewLines(
  agent: AgentId,
  path: string,
  before: CursorRow | undefined,
  files: HeldFiles,
  most = 200,
): Batch {
  const cursor = before ?? newCursor(agent, path);
  let file: Looked | undefined;
  try {
    const grown = cursor.file && readGrown(files.held(path, cursor.file), cursor, cursor.file, most);
    if (grown) return grown;
    file = files.look(path, cursor.file);
    if (file === undefined) return nothing(cursor, "There is no such file.");
    const opened = { ...file, most };
    return cursor.file === null ? read(opened, cursor, null) : readOn(opened, path, cursor, cursor.file);
  } catch (error) {
    throwIfExhausted(error);
    return nothing(cursor, error instanceof Error ? error.message : String(error));
  } finally {
    if (file !== undefined) files.release(path, file);
  }
}

function newCursor(agent: AgentId, log: string): CursorRow {
  const zero = { offset: 0, line: 0, checksum: 0, generation: 1, missed_bytes: 0 };
  return { agent, log, run: 0, ...zero, file: null, updated_at: iso() };
}

function nothing(cursor: CursorRow, note: string): Batch {
  return { lines: [], total: cursor.line, cursor, restarted: null, more: false, note };
}

/** A file that is held and only grew, as nearly always: one read tells that and what is new. Undefined when a closer look is needed. */
function readGrown(source: FileSource | undefined, cursor: CursorRow, mark: FileMark, most: number): Batch | undefined {
  if (source === undefined) return undefined;
  const before = Math.min(cursor.offset, TAIL_BYTES);
  const got = source.readToEnd(scratch, cursor.offset - before);
  const size = cursor.offset - before + got;
  if (got === scratch.length || size <= mark.seen) return undefined;
  const view = { before: scratch.subarray(0, before), fresh: scratch.subarray(before, got) };
  if (crc32(view.before) !== mark.tail) return undefined;
  const { dev, ino, birthtimeMs, ctimeMs } = source.opened;
  return read({ source, stat: { dev, ino, birthtimeMs, ctimeMs, size }, most }, cursor, null, view);
}

function readOn(file: Opened, path: string, cursor: CursorRow, mark: FileMark): Batch {
  const { source, stat } = file;
  if (!isSameFile(stat, mark)) return afterRotation(file, path, cursor, mark);
  const grown = stat.size >= cursor.offset;
  if (grown) {
    const view = viewFrom(file, cursor.offset);
    if (crc32(view.before) === mark.tail) return read(file, cursor, null, view);
  }
  const prefix = samePrefix(source, stat.size, mark);
  if (prefix === 0) return read(file, restarted(cursor, mark, 0), "truncated");
  // Cut to a part of what was read: that part is not read again. When it has grown past the place since, nobody can tell where the
  // part ended: rather missed than read twice.
  const kept = grown ? lineStartFrom(source, cursor.offset, stat.size) : wholeEnd(source, stat.size);
  const next = restarted(cursor, mark, kept);
  const missed = grown ? kept - prefix : 0;
  return read(file, { ...next, missed_bytes: next.missed_bytes + missed }, "truncated");
}

/** The old file may lie beside the new one under another name: its rest comes first. */
function afterRotation(file: Opened, path: string, cursor: CursorRow, mark: FileMark): Batch {
  const old = findRenamed(path, cursor, mark);
  if (old === undefined) return read(file, restarted(cursor, mark, 0), "replaced");
  using _source = old.source;
  const rest = read({ ...old, most: file.most }, cursor, "rotated");
  // Its writer may not have noticed yet: what has no newline is waited for until the size stays.
  const open = old.stat.size > rest.cursor.offset;
  if (rest.more || rest.lines.length > 0 || (open && old.stat.size !== mark.seen)) return { ...rest, more: true };
  const next = read(file, restarted(rest.cursor, null, 0), "rotated");
  const lost = open ? old.stat.size - rest.cursor.offset : 0;
  return { ...next, cursor: { ...next.cursor, missed_bytes: next.cursor.missed_bytes + lost } };
}

function findRenamed(path: string, cursor: CursorRow, mark: FileMark): Looked | undefined {
  const folder = dirname(path);
  const names = readdirSync(folder);
  if (names.length > ENTRIES_MAX) return undefined;
  // Those that are called alike first (app.log.1, app-2026.log): the others are many in a folder of logs.
  const { name: stem } = parse(path);
  const alike = names.filter((name) => name.startsWith(stem));
  for (const name of new Set([...alike, ...names])) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    if (found === undefined || !found.isFile() || !isSameFile(found, mark)) continue;
    const old = openFile(join(folder, name));
    if (old === undefined) continue;
    if (old.stat.size >= cursor.offset && crc32(tailBytes(old.source, cursor.offset)) === mark.tail) return old;
    old.source.close();
  }
  return undefined;
}

/** `mark` is that of a file whose rest is lost. What its first bytes were says nothing of what stands there now. */
function restarted(cursor: CursorRow, mark: FileMark | null, offset: number): CursorRow {
  const lost = mark === null ? 0 : Math.max(0, mark.seen - cursor.offset);
  const { generation, missed_bytes } = cursor;
  const anew = { checksum: 0, generation: generation + 1, file: null };
  return { ...cursor, ...anew, offset, missed_bytes: missed_bytes + lost };
}

/** The bytes just before a place and those from it on: one read tells whether it is the same file and what is new in it. */
interface View {
  before: Buffer;
  fresh: Buffer;
}

/** One for all: lines are made to text before the next file is looked at, and a buffer for each kept the collector busy. */
let scratch = Buffer.allocUnsafe(64 << 10);

function viewFrom({ source, stat }: Looked, offset: number): View {
  const before = Math.min(offset, TAIL_BYTES);
  const wanted = before + Math.min(Math.max(0, stat.size - offset), BYTES_MOST);
  if (scratch.length < wanted) scratch = Buffer.allocUnsafe(wanted);
  const bytes = scratch.subarray(0, wanted);
  const got = source.read(bytes, offset - before);
  return { before: bytes.subarray(0, Math.min(before, got)), fresh: bytes.subarray(before, Math.max(before, got)) };
}

function read(file: Opened, cursor: CursorRow, why: Restart | null, view: View = viewFrom(file, cursor.offset)): Batch {
  const { source, stat } = file;
  const { fresh } = view;
  const { lines, end } = linesOf(fresh, file.most);
  const left = stat.size - cursor.offset - end;
  if (end === 0 && left > fresh.length) return readLong(file, cursor, why);
  const offset = cursor.offset + end;
  const tail = end >= TAIL_BYTES ? fresh.subarray(end - TAIL_BYTES, end) : tailBytes(source, offset);
  const mark = markOf(file, cursor.file, crc32(tail));
  const next = placeAt(cursor, mark, offset, lines.length, crc32(fresh.subarray(0, end), cursor.checksum));
  const more = left > fresh.length - end || fresh.includes(NEWLINE, end);
  return { lines, total: next.line, cursor: next, restarted: why, more, note: null };
}

/** Whole lines and where they end. They are cut from one text: a text for each line took twice as long. */
function linesOf(fresh: Buffer, most: number): { lines: string[]; end: number } {
  const end = fresh.lastIndexOf(NEWLINE) + 1;
  if (end === 0) return { lines: [], end };
  const lines = fresh.toString("utf8", 0, end - 1).split("\n");
  if (lines.length <= most) return { lines, end };
  let cut = 0;
  for (let i = 0; i < most; i++) cut = fresh.indexOf(NEWLINE, cut) + 1;
  return { lines: lines.slice(0, most), end: cut };
}

/** A line longer than what is read at once. */
function readLong(file: Looked, cursor: CursorRow, why: Restart | null): Batch {
  const { source, stat } = file;
  for (const { bytes, whole, end, truncated } of forward(source, cursor.offset, stat.size)) {
    if (!whole) break;
    const mark = markOf(file, cursor.file, crc32(tailBytes(source, end)));
    const next = placeAt(cursor, mark, end, 1, lineSum(cursor.checksum, { bytes, whole: !truncated }));
    const more = end < stat.size;
    return { lines: [bytes.toString("utf8")], total: next.line, cursor: next, restarted: why, more, note: null };
  }
  const marked = { ...cursor, file: markOf(file, cursor.file, crc32(tailBytes(source, cursor.offset))) };
  return { lines: [], total: cursor.line, cursor: marked, restarted: why, more: false, note: null };
}

function placeAt(cursor: CursorRow, file: FileMark, offset: number, lines: number, checksum: number): CursorRow {
  const { agent, log, run, generation, missed_bytes } = cursor;
  const line = cursor.line + lines;
  return { agent, log, run, offset, line, checksum, generation, file, missed_bytes, updated_at: iso() };
}

const NEWLINE = 10;

/** The first bytes of a file that was seen whole before are still the same: what follows them was. */
function markOf({ source, stat }: Looked, before: FileMark | null, tail: number): FileMark {
  const { dev, ino, birthtimeMs, size } = stat;
  const known = before?.ino === ino && before.dev === dev && before.head.length === HEAD_STEPS;
  return { dev, ino, birth_ms: birthtimeMs, head: known ? before.head : headOf(source, size), tail, seen: size };
}

function headOf(source: FileSource, size: number): number[] {
  const bytes = Buffer.alloc(Math.min(size, HEAD_FIRST << (HEAD_STEPS - 1)));
  const got = source.read(bytes, 0);
  const sums: number[] = [];
  for (let length = HEAD_FIRST; length <= got; length *= 2) sums.push(crc32(bytes.subarray(0, length)));
  return sums;
}

/** How many of the marked first bytes are there and the same, 0 for another beginning. A handful of bytes proves nothing. */
function samePrefix(source: FileSource, size: number, { head }: FileMark): number {
  const now = headOf(source, size);
  const common = Math.min(now.length, head.length);
  return common > 0 && now[common - 1] === head[common - 1] ? HEAD_FIRST << (common - 1) : 0;
}

function tailBytes(source: FileSource, offset: number): Buffer {
  const bytes = Buffer.alloc(Math.min(offset, TAIL_BYTES));
  return bytes.subarray(0, source.read(bytes, offset - bytes.length));
}
