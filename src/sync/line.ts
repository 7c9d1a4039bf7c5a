/**
 * One line of `sync/events/<origin>.jsonl`: an event with what orders it among those of all origins. `lc` is a Lamport clock: higher
 * than everything that was here when the event went out, so an answer from another machine comes behind its question whatever the clocks
 * of the two say. It grows within a file, so (lc, origin) is a total order and the same for everybody who has the same files.
 */

import { type JournalEvent, readEvent } from "../journal/event.ts";
import { backward, forward, wholeEnd } from "../log/lines.ts";
import { FileSource, type Source } from "../log/source.ts";

export interface OriginEvent extends JournalEvent {
  origin: string;
  lc: number;
  /** Counts the events of a workspace, from 1. */
  n: number;
  /** Where the writer read it: the cursor before it in its own journal, null for the beginning. */
  at: string | null;
}

export interface Placed {
  event: JournalEvent;
  lc: number;
  seq: number;
  next: number;
}

/** Nobody gets there by counting; one who writes more would leave no room for the others. */
const LC_MAX = 2 ** 50;

/** The events from a line's start on. `lc` is what the line before it had: a file that somebody tampered with stays in order, too. */
export function* placed(source: Source, from: number, end: number, lc: number): Generator<Placed> {
  let last = lc;
  for (const line of forward(source, from, end)) {
    if (line.truncated) continue;
    const { event } = readEvent(line.bytes, line.offset);
    if (event === undefined) continue;
    last = Math.max(last + 1, clockOf(event));
    yield { event, lc: last, seq: line.offset, next: line.end };
  }
}

function clockOf(event: JournalEvent): number {
  const { lc } = event as Partial<OriginEvent>;
  return Number.isSafeInteger(lc) && lc !== undefined && lc > 0 && lc <= LC_MAX ? lc : 0;
}

/** The last good line of a file. */
export function lastLine(path: string): OriginEvent | undefined {
  using source = FileSource.open(path);
  if (source === undefined) return undefined;
  for (const { start, end } of backward(source, wholeEnd(source, source.size()))) {
    const bytes = Buffer.alloc(end - start);
    source.read(bytes, start);
    const { event } = readEvent(bytes, start);
    if (event !== undefined && clockOf(event) > 0) return event as OriginEvent;
  }
  return undefined;
}

/** What stands in a file up to its last newline. */
export function wholeBytes(path: string): Buffer {
  using source = FileSource.open(path);
  if (source === undefined) return Buffer.alloc(0);
  const bytes = Buffer.alloc(wholeEnd(source, source.size()));
  source.read(bytes, 0);
  return bytes;
}
