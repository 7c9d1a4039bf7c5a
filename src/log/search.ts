/** Finding text in one log: every hit with its line, without holding more than a chunk. */
import { replaceSpans, type SecretFinder } from "../core/secret-values.ts";
import { tailStart } from "./lines.ts";
import type { Log } from "./log.ts";
import { giveBack, makeScanner } from "./scanner.ts";

export interface Hit {
  /** Of the line's first byte; a reader can go on from here. */
  offset: number;
  /** Line number from 1; null when nobody has counted. */
  seq: number | null;
  timestamp: string | null;
  /** The line, or as much of it around the text as fits. */
  text: string;
}

const CHUNK = 1 << 20;
/** Shown on each side of the text. */
const CONTEXT = 120;

/** The lines of [from, end) that hold `text`, oldest first, each once; without the values that `secrets` knows. */
export function* search(log: Log, text: string, from: number, end: number, secrets?: SecretFinder): Generator<Hit> {
  const needle = Buffer.from(text);
  if (needle.length === 0 || needle.length > CHUNK / 4) return;
  const scanner = makeScanner(CHUNK);
  try {
    for (let at = from; at < end; ) {
      const n = log.source.read(scanner.bytes.subarray(0, Math.min(CHUNK, end - at)), at);
      if (n < needle.length) return;
      let next: number | undefined;
      for (let hit = scanner.indexOf(needle, 0, n); hit >= 0; ) {
        const { found, lineEnd } = describe(log, at + hit, needle.length, end, secrets);
        yield found;
        if (lineEnd - at >= n) {
          next = lineEnd; // A line that goes on behind this chunk: go on behind the line.
          break;
        }
        hit = scanner.indexOf(needle, lineEnd - at, n);
      }
      // The text may begin at the end of this chunk.
      at = next ?? (at + n >= end ? end : at + n - needle.length + 1);
    }
  } finally {
    giveBack(scanner);
  }
}

function describe(
  log: Log,
  hit: number,
  length: number,
  end: number,
  secrets: SecretFinder | undefined,
): { found: Hit; lineEnd: number } {
  const offset = tailStart(log.source, hit + 1, 1);
  const lineEnd = behindLine(log, hit, end);
  const before = log.lineAt(offset);
  const from = Math.max(offset, hit - CONTEXT);
  const to = Math.min(lineEnd, hit + length + CONTEXT);
  // A secret that the cut goes through must not leave its other half behind.
  const margin = secrets?.longest ?? 0;
  const start = Math.max(offset, from - margin);
  const wide = Buffer.alloc(Math.min(lineEnd, to + margin) - start);
  log.source.read(wide, start);
  const bytes = replaceSpans(wide, secrets?.find(wide) ?? [], from - start, to - start);
  const time = log.timeAt(lineEnd);
  const found = {
    offset,
    seq: before === null ? null : before + 1,
    timestamp: time > 0 ? new Date(time).toISOString() : null,
    text: bytes.toString().replace(/\r?\n$/, ""),
  };
  return { found, lineEnd };
}

function behindLine(log: Log, from: number, end: number): number {
  const buffer = Buffer.allocUnsafe(64 << 10);
  for (let at = from; at < end; ) {
    const n = log.source.read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    if (n === 0) break;
    const newline = buffer.subarray(0, n).indexOf(10);
    if (newline >= 0) return at + newline + 1;
    at += n;
  }
  return end;
}
