/** The index of a log made anew from its bytes, when the keeper's is missing or wrong. Times and CRCs are not known any more. */
import { ENTRY_BYTES, WITHOUT_CRC } from "./line-index.ts";
import { NEWLINE, type Scanner, withScanner } from "./scanner.ts";
import type { Source } from "./source.ts";

const CHUNK = 1 << 20;
const ENTRY_LINES = 1024;

/** One entry per 1,024 lines and per 1 MiB, each behind a newline, as the keeper writes them. */
export function buildIndex(source: Source, end: number): Buffer {
  return withScanner(CHUNK, (scanner) => build(scanner, source, end));
}

function build(scanner: Scanner, source: Source, end: number): Buffer {
  const entries: number[] = [];
  let lines = 0;
  let from = 0;
  for (let at = 0; at < end; ) {
    const n = source.read(scanner.bytes.subarray(0, Math.min(CHUNK, end - at)), at);
    if (n === 0) break;
    let start = 0;
    while (start < n) {
      const wanted = ENTRY_LINES - (lines % ENTRY_LINES);
      const full = scanner.skipLines(start, n, wanted);
      lines += full < 0 ? -1 - full : wanted;
      const far = full < 0 && at + n - from >= CHUNK;
      const stop = far ? scanner.bytes.subarray(0, n).lastIndexOf(NEWLINE) + 1 : full;
      if (stop > start) {
        entries.push(lines, at + stop);
        from = at + stop;
      }
      start = full < 0 ? n : full;
    }
    at += n;
  }
  return encode(entries);
}

/** Pairs of line and offset. */
function encode(entries: readonly number[]): Buffer {
  const bytes = Buffer.alloc((entries.length / 2) * ENTRY_BYTES);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let i = 0, at = 0; at < bytes.length; i += 2, at += ENTRY_BYTES) {
    view.setBigUint64(at, BigInt(entries[i] as number), true);
    view.setBigUint64(at + 8, BigInt(entries[i + 1] as number), true);
    view.setUint32(at + 28, WITHOUT_CRC, true);
  }
  return bytes;
}
