/** What a stretch of events.log holds, line by line: events, and what is none. The same bytes always give the same entries. */

import { forward, type Line } from "../log/lines.ts";
import { isBlank } from "../log/scanner.ts";
import type { Source } from "../log/source.ts";
import { type JournalEvent, readEvent } from "./event.ts";

/** A line of the journal: where it begins, and where the next one does. */
export type JournalLine = { seq: number; next: number } & (
  | { event: JournalEvent; bad: undefined }
  | { event: undefined; bad: Bad }
);

interface Bad {
  reason: string;
  /** A copy, at most 16 MiB. */
  bytes: Uint8Array;
  length: number;
}

/** Entries between two line starts. Empty lines give none. */
export function* entries(source: Source, from: number, end: number): Generator<JournalLine> {
  for (const line of forward(source, from, end)) if (!isBlank(line.bytes)) yield* entriesOf(line);
}

function* entriesOf(line: Line): Generator<JournalLine> {
  const { offset: seq, end: next, bytes } = line;
  if (line.truncated) {
    yield { seq, next, event: undefined, bad: badOf("longer than 16 MiB", bytes, next - seq - 1) };
    return;
  }
  const { event, reason } = readEvent(bytes, seq);
  if (event !== undefined) {
    yield { seq, next, event, bad: undefined };
    return;
  }
  const glued = behindTorn(bytes, seq);
  if (glued === undefined) yield { seq, next, event: undefined, bad: badOf(reason, bytes) };
  else {
    // In this order: whoever stops between the two goes on at the line's start, and loses neither.
    yield { seq: seq + glued.at, next: seq, event: glued.event, bad: undefined };
    yield { seq, next, event: undefined, bad: badOf("torn", bytes.subarray(0, glued.at)) };
  }
}

/**
 * A writer that is killed in mid-line, in the moment between another one's look at the tail and its write, leaves its torn line in
 * front of the other's whole one. Quotes inside an event are escaped, so the beginning of an event cannot stand in another.
 */
function behindTorn(bytes: Buffer, seq: number): { at: number; event: JournalEvent } | undefined {
  const at = Math.max(...BEGINNINGS.map((beginning) => bytes.lastIndexOf(beginning)));
  if (at <= 0) return undefined;
  const { event } = readEvent(bytes.subarray(at), seq + at);
  return event && { at, event };
}
const BEGINNINGS = ['{"v":1,', '{"interaction":'];

function badOf(reason: string, bytes: Uint8Array, length = bytes.length): Bad {
  return { reason, bytes: Uint8Array.from(bytes), length };
}
