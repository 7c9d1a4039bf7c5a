/** Finding text in one log: every hit with its line, without holding more than a chunk. */
import { type Masker, masker } from "../core/mask/mask.ts";
import type { SecretFinder } from "../core/secret-values.ts";
import { isInBlock } from "./in-block.ts";
import { type Span, tailStart } from "./lines.ts";
import type { Log } from "./log.ts";
import { makeScanner, NEWLINE } from "./scanner.ts";

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
/** Longer than nearly all keys. */
const MARGIN = 512;

/** The last one, for the next log: a scanner knows by it that it has looked for the same before. */
let sought = { text: "", needle: Buffer.alloc(0) };

/** The lines of [from, end) that hold `text`, oldest first, each once; without secrets, also those that `secrets` knows by value. */
export function* search(
  log: Log,
  text: string,
  from: number,
  end: number,
  secrets: () => SecretFinder | undefined = () => undefined,
): Generator<Hit> {
  if (sought.text !== text) sought = { text, needle: Buffer.from(text) };
  const { needle } = sought;
  if (needle.length === 0 || needle.length > CHUNK / 4) return;
  let hide: Hide | undefined;
  using scanner = makeScanner(CHUNK);
  for (let at = from; at < end; ) {
    const n = log.source.read(scanner.bytes.subarray(0, Math.min(CHUNK, end - at)), at);
    if (n < needle.length) return;
    const chunk = { bytes: scanner.bytes.subarray(0, n), at };
    let next: number | undefined;
    // Lines before a place in this chunk: where there are many hits, what lies between two of them is counted here.
    let counted: { offset: number; lines: number } | undefined;
    for (let hit = scanner.indexOf(needle, 0, n); hit >= 0; ) {
      const line = lineAround(log, chunk, hit, end);
      const before =
        counted === undefined
          ? log.lineAt(line.start)
          : counted.lines + scanner.countNewlines(counted.offset - at, line.start - at);
      counted = before === null ? undefined : { offset: line.end, lines: before + 1 };
      hide ??= hideWith(secrets());
      yield {
        offset: line.start,
        seq: before === null ? null : before + 1,
        timestamp: timeOf(log, line.end),
        text: shown(log, chunk, line, { start: at + hit, end: at + hit + needle.length }, hide),
      };
      if (line.end - at >= n) {
        next = line.end; // A line that goes on behind this chunk: go on behind the line.
        break;
      }
      hit = scanner.indexOf(needle, line.end - at, n);
    }
    // The text may begin at the end of this chunk.
    at = next ?? (at + n >= end ? end : at + n - needle.length + 1);
  }
}

/** Bytes of a log that were read, and where they lie. */
interface Chunk {
  bytes: Buffer;
  at: number;
}

/** The line of a hit at this place of the chunk; the log is asked only where it goes beyond the chunk. */
function lineAround(log: Log, { bytes, at }: Chunk, hit: number, end: number): Span {
  const before = hit === 0 ? -1 : bytes.lastIndexOf(NEWLINE, hit - 1);
  const behind = bytes.indexOf(NEWLINE, hit);
  return {
    start: before < 0 ? tailStart(log.source, at + hit + 1, 1) : at + before + 1,
    end: behind < 0 ? behindLine(log, at + bytes.length, end) : at + behind + 1,
  };
}

/** What hides secrets, and how far one may reach. */
interface Hide {
  masker: Masker;
  margin: number;
}

function hideWith(finder: SecretFinder | undefined): Hide {
  return { masker: masker(finder), margin: Math.max(MARGIN, finder?.longest ?? 0) };
}

/** The line around the hit, without secrets. */
function shown(log: Log, chunk: Chunk, line: Span, hit: Span, { masker, margin }: Hide): string {
  const from = Math.max(line.start, hit.start - CONTEXT);
  const to = Math.min(line.end, hit.end + CONTEXT);
  // A secret that the cut goes through must not leave its other half behind.
  const start = Math.max(line.start, from - margin);
  const wide = bytesOf(log, chunk, { start, end: Math.min(line.end, to + margin) });
  const block = isInBlock(log.source, line.start, wide);
  const bytes = masker.part(wide, from - start, to - start, block);
  return bytes.toString().replace(/\r?\n$/, "");
}

function bytesOf(log: Log, { bytes, at }: Chunk, { start, end }: Span): Buffer {
  if (start >= at && end <= at + bytes.length) return bytes.subarray(start - at, end - at);
  const read = Buffer.alloc(end - start);
  log.source.read(read, start);
  return read;
}

function timeOf(log: Log, end: number): string | null {
  const time = log.timeAt(end);
  return time > 0 ? new Date(time).toISOString() : null;
}

function behindLine(log: Log, from: number, end: number): number {
  const buffer = Buffer.allocUnsafe(64 << 10);
  for (let at = from; at < end; ) {
    const n = log.source.read(buffer.subarray(0, Math.min(buffer.length, end - at)), at);
    if (n === 0) break;
    const newline = buffer.subarray(0, n).indexOf(NEWLINE);
    if (newline >= 0) return at + newline + 1;
    at += n;
  }
  return end;
}
