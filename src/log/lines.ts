/** Lines of a source, forwards and backwards, in bounded memory: no line is ever held beyond 16 MiB. */
import { crc32 } from "node:zlib";
import { isBlank, makeScanner, NEWLINE } from "./scanner.ts";
import type { Source } from "./source.ts";

export const LINE_MAX: number = 16 << 20;
const CHUNK = 256 << 10;
const BACK_FIRST = 64 << 10;
const BACK_MOST = 1 << 20;

export interface Line {
  /** Of its first byte. */
  offset: number;
  /** Of the byte behind it, newline included. */
  end: number;
  /** Without its newline; valid until the next line is asked for. */
  bytes: Buffer;
  /** Whether a newline ends it. */
  whole: boolean;
  /** Longer than LINE_MAX: only that much of it is in `bytes`. */
  truncated: boolean;
}

/** Where complete lines end at or before `end`: a living run may be in the middle of one. */
export function wholeEnd(source: Source, end: number): number {
  for (const { start } of backward(source, end)) return start === end ? end : isNewline(source, end - 1) ? end : start;
  return end;
}

/** Where the last `count` lines before `end` begin. */
export function tailStart(source: Source, end: number, count: number): number {
  if (count <= 0) return end;
  let left = count;
  for (const { start } of backward(source, end)) if (--left === 0) return start;
  return 0;
}

/** Where the last `count` records begin: blank lines give none, so they are passed over. */
export function recordsStart(source: Source, end: number, count: number): number {
  if (count <= 0) return end;
  let left = count;
  const head = Buffer.allocUnsafe(HEAD);
  for (const span of backward(source, end)) if (!blankSpan(source, span, head) && --left === 0) return span.start;
  return 0;
}

/** Nearly every line shows in its first bytes that it is not blank. */
function blankSpan(source: Source, { start, end }: Span, head: Buffer): boolean {
  for (let at = start; at < end; at += head.length) {
    const n = source.read(head.subarray(0, Math.min(head.length, end - at)), at);
    if (!isBlank(head.subarray(0, n))) return false;
  }
  return true;
}
const HEAD = 64;

/** The first line start at or behind `offset`; `end` when there is none. */
export function lineStartFrom(source: Source, offset: number, end: number): number {
  if (offset <= 0 || isNewline(source, offset - 1)) return Math.max(0, offset);
  for (const line of forward(source, offset, end)) return line.whole ? line.end : end;
  return end;
}

export interface Span {
  start: number;
  /** Without the newline. */
  end: number;
}

/** The lines before `end`, last first. */
export function* backward(source: Source, end: number): Generator<Span> {
  if (end <= 0) return;
  let lineEnd = isNewline(source, end - 1) ? end - 1 : end;
  let size = BACK_FIRST;
  let buffer = Buffer.allocUnsafe(size);
  for (let to = lineEnd; ; ) {
    const from = Math.max(0, to - size);
    const n = source.read(buffer.subarray(0, to - from), from);
    for (let at = n === 0 ? -1 : buffer.lastIndexOf(NEWLINE, n - 1); at >= 0; ) {
      yield { start: from + at + 1, end: lineEnd };
      lineEnd = from + at;
      at = at === 0 ? -1 : buffer.lastIndexOf(NEWLINE, at - 1); // -1 as an offset would mean the end
    }
    if (from === 0) break;
    to = from;
    size = Math.min(BACK_MOST, size * 4);
    if (buffer.length < size) buffer = Buffer.allocUnsafe(size);
  }
  yield { start: 0, end: lineEnd };
}

/** The lines from `from` (a line's start) to `to`; the last one may lack its newline. */
export function* forward(source: Source, from: number, to: number): Generator<Line> {
  using scanner = makeScanner(CHUNK);
  const { bytes } = scanner;
  let long: { parts: Buffer[]; held: number; offset: number } | undefined;
  for (let at = from; at < to; ) {
    const n = source.read(bytes.subarray(0, Math.min(CHUNK, to - at)), at);
    if (n === 0) break;
    let start = 0;
    for (let next = scanner.skipLines(0, n, 1); next >= 0; next = scanner.skipLines(start, n, 1)) {
      const part = bytes.subarray(start, next - 1);
      if (long === undefined) yield { offset: at + start, end: at + next, bytes: part, whole: true, truncated: false };
      else yield joined(long, part, at + next, true);
      long = undefined;
      start = next;
    }
    if (start > 0 && start < n && at + n < to && long === undefined) {
      at += start; // The rest is read again with what follows it: no copy for ordinary lines.
      continue;
    }
    if (start < n) {
      long ??= { parts: [], held: 0, offset: at + start };
      hold(long, bytes.subarray(start, n));
    }
    at += n;
  }
  if (long !== undefined) yield joined(long, Buffer.alloc(0), to, false);
}

function hold(long: { parts: Buffer[]; held: number }, part: Buffer): void {
  if (long.held < LINE_MAX) long.parts.push(Buffer.from(part.subarray(0, LINE_MAX - long.held)));
  long.held += part.length;
}

function joined(
  long: { parts: Buffer[]; held: number; offset: number },
  last: Buffer,
  end: number,
  whole: boolean,
): Line {
  hold(long, last);
  return { offset: long.offset, end, bytes: Buffer.concat(long.parts), whole, truncated: long.held > LINE_MAX };
}

export function isNewline(source: Source, offset: number): boolean {
  const byte = new Uint8Array(1);
  return source.read(byte, offset) === 1 && byte[0] === NEWLINE;
}

const NEWLINE_BYTE = Buffer.of(NEWLINE);

/** The checksum of all bytes before, with this line's behind them. */
export function lineSum(before: number, { bytes, whole }: Pick<Line, "bytes" | "whole">): number {
  const sum = crc32(bytes, before);
  return whole ? crc32(NEWLINE_BYTE, sum) : sum;
}
