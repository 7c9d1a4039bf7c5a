/** Is a log sound? Every line (JSON where JSON is expected), the torn tail, and the index entry by entry against the bytes. */
import { crc32c } from "./crc32c.ts";
import { forward } from "./lines.ts";
import type { Log } from "./log.ts";
import { toRecord } from "./record.ts";
import { PlainScanner } from "./scanner.ts";

export interface BadLine {
  line_number: number;
  offset: number;
  error: string;
}

export interface Verified {
  ok: boolean;
  lines: number;
  bytes: number;
  /** The first 100. */
  bad: BadLine[];
  bad_count: number;
  /** The last line has no newline. */
  partial: boolean;
  index: "ok" | "stale" | "wrong" | "none";
}

export type Progress = (bytes: number) => void;

const BAD_SHOWN = 100;
const CHUNK = 1 << 20;
const PROGRESS_BYTES = 64 << 20;
/** An index that ends further back than this was left behind: its keeper is gone, or the file grew without one. */
const STALE_BYTES = 64 << 20;

/** `end`: of a living run only its whole lines. */
export function verify(log: Log, end: number, progress: Progress = () => undefined): Verified {
  const bad: BadLine[] = [];
  let badCount = 0;
  let lines = 0;
  let partial = false;
  let told = 0;
  for (const line of forward(log.source, 0, end)) {
    lines++;
    partial = !line.whole;
    const error = log.options.json ? lineError(log, line, lines) : undefined;
    if (error !== undefined) {
      badCount++;
      if (bad.length < BAD_SHOWN) bad.push({ line_number: lines, offset: line.offset, error });
    }
    if (line.end - told > PROGRESS_BYTES) {
      told = line.end;
      progress(told);
    }
  }
  const index = verifyIndex(log, end);
  return { ok: badCount === 0 && index !== "wrong", lines, bytes: end, bad, bad_count: badCount, partial, index };
}

function lineError(log: Log, line: Parameters<typeof toRecord>[0], seq: number): string | undefined {
  const record = toRecord(line, seq, 0, log.options);
  return record?.type === "parse_error" ? (record.error ?? "not valid JSON") : undefined;
}

/** Line count and CRC of the bytes between each two entries. */
function verifyIndex(log: Log, end: number): Verified["index"] {
  const { index, source } = log;
  if (index.length === 0) return "none";
  const scanner = new PlainScanner(CHUNK);
  let at = 0;
  let lines = 0;
  for (let i = 0; i < index.length; i++) {
    const entry = index.entry(i);
    if (entry.offset <= at || entry.offset > end) return "wrong";
    let crc = 0;
    let last = 0;
    while (at < entry.offset) {
      const n = source.read(scanner.bytes.subarray(0, Math.min(CHUNK, entry.offset - at)), at);
      if (n === 0) return "wrong";
      const part = scanner.bytes.subarray(0, n);
      crc = crc32c(crc, part);
      lines += scanner.countNewlines(0, n);
      last = part[n - 1] as number;
      at += n;
    }
    if (last !== 10 || lines !== entry.line || crc !== entry.crc) return "wrong";
  }
  return end - at > STALE_BYTES ? "stale" : "ok";
}
