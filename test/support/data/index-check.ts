/** An index recomputed from the bytes of its log: docs/formats.md, section Index. */
import { existsSync, readFileSync } from "node:fs";

export interface Entry {
  line: number;
  offset: number;
  timeMs: number;
  crc: number;
}

const NEWLINE = 10;
const ENTRY = 32;
const MIB = 1 << 20;

export function readIndex(bytes: Buffer): Entry[] {
  return Array.from({ length: Math.floor(bytes.length / ENTRY) }, (_, i) => ({
    line: Number(bytes.readBigUInt64LE(i * ENTRY)),
    offset: Number(bytes.readBigUInt64LE(i * ENTRY + 8)),
    timeMs: Number(bytes.readBigUInt64LE(i * ENTRY + 16)),
    crc: bytes.readUInt32LE(i * ENTRY + 24),
  }));
}

/** An empty one goes with the cleanup. */
export function indexAt(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}

/** What is wrong with the index of an ended run; empty when it is right. */
export function checkIndex(log: Buffer, index: Buffer): string[] {
  const problems: string[] = [];
  if (index.length % ENTRY !== 0) problems.push(`${index.length} bytes are not whole entries`);
  let before: Entry = { line: 0, offset: 0, timeMs: 0, crc: 0 };
  for (const [i, entry] of readIndex(index).entries()) {
    const span = log.subarray(before.offset, entry.offset);
    const say = (what: string): void => void problems.push(`entry ${i}: ${what}: ${JSON.stringify(entry)}`);
    if (entry.offset <= before.offset) say("does not advance");
    if (entry.offset > log.length || log[entry.offset - 1] !== NEWLINE) say("is not behind a newline");
    const lines = newlines(span);
    if (before.line + lines !== entry.line) say(`wrong line, ${before.line + lines} is right`);
    if (lines > 1024) say(`${lines} lines since the entry before`);
    // The line that makes the entry due may itself be long.
    const lastLine = span.length - 1 - span.lastIndexOf(NEWLINE, span.length - 2);
    if (span.length - lastLine >= MIB) say(`${span.length} bytes since the entry before`);
    if (crc32c(span) !== entry.crc) say("wrong checksum");
    if (entry.timeMs < before.timeMs) say("time goes back");
    before = entry;
  }
  if (before.offset !== log.lastIndexOf(NEWLINE) + 1) problems.push(`ends at ${before.offset} of ${log.length}`);
  return problems;
}

function newlines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0x82f63b78 : c >>> 1;
  return c;
});

function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (TABLE[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
