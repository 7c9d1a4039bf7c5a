/**
 * How far a reader has come in events.log. Its cursor is where it reads on: a line's start, or the place of a part within a line; where
 * pieces wait that it has not told of, `-` and the place of the first of them stand behind. Which events there are and where hangs on the file
 * alone; only when a piece that stays alone is told hangs on the time.
 */
import { setImmediate as breathe } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { LineIndex } from "../log/line-index.ts";
import { backward, forward, isNewline, type Line, lineStartFrom, wholeEnd } from "../log/lines.ts";
import { Log } from "../log/log.ts";
import { isBlank } from "../log/scanner.ts";
import { BufferSource, FileSource } from "../log/source.ts";
import type { BadLine, Cursor, Stored } from "./engine.ts";
import { Joining, type Part, type Piece, partsOf, REACH_BYTES } from "./pieces.ts";
import { RecentIds, WINDOW_BYTES } from "./recent-ids.ts";

/** Others get their turn after this many entries. */
const AT_ONCE = 2000;
/** Whose next piece has not come by then is taken for dead and told; should it come yet, the event is there all the same. */
const PATIENCE_MS = 10_000;

interface Place {
  offset: number;
  open: number | undefined;
}

const CURSOR = /^(\d{1,15})(?:-(\d{1,15}))?$/;

function placeOf(cursor: Cursor): Place | undefined {
  const [, offset, open] = CURSOR.exec(cursor) ?? [];
  if (offset === undefined) return undefined;
  return { offset: Number(offset), open: open === undefined ? undefined : Number(open) };
}

/** Whether reading can go on there. */
export function isCursorOf(source: FileSource, cursor: Cursor): boolean {
  const place = placeOf(cursor);
  return place !== undefined && holds(source, place, wholeEnd(source, source.size()));
}

function holds(source: FileSource, { offset, open }: Place, end: number): boolean {
  return isPlace(source, offset, end) && (open === undefined || (open < offset && isPlace(source, open, end)));
}

/** Where a line or one of its parts begins, or the end. */
function isPlace(source: FileSource, offset: number, end: number): boolean {
  if (offset === 0 || offset === end) return true;
  if (offset > end) return false;
  if (isNewline(source, offset - 1)) return true;
  for (const line of forward(source, lineBefore(source, offset), end))
    return partsIn(line).some(({ seq }) => seq === offset);
  return false;
}

/** Where the line begins that holds the byte before `offset`. */
function lineBefore(source: FileSource, offset: number): number {
  for (const { start } of backward(source, offset)) return start;
  return 0;
}

export class Reading {
  #offset: number;
  /** Pieces from here to the offset are to be read again: what waits is kept in nobody's memory. */
  #again: number | undefined;
  #ids: RecentIds | undefined;
  #joining = new Joining();
  /** Whether it is known what waits before the offset. */
  #isSure: boolean;
  /** Up to where lines were counted; only bad lines need a number. */
  #counted = { offset: 0, lines: 0 };

  constructor(after: Cursor | undefined) {
    const place = after === undefined ? { offset: 0, open: undefined } : placeOf(after);
    if (place === undefined) {
      throw new MidwatchError("USAGE", `${quote(after)} is not a cursor of this journal.`, {
        hint: "A cursor is what an earlier read gave.",
      });
    }
    this.#offset = place.offset;
    this.#again = place.open;
    this.#isSure = place.offset === 0;
  }

  async *on(path: string, signal: AbortSignal): AsyncGenerator<Stored | BadLine> {
    using source = FileSource.open(path);
    if (source === undefined) return;
    const end = wholeEnd(source, source.size());
    if (!holds(source, { offset: this.#offset, open: this.#again }, end)) this.#startOver();
    this.#ids ??= idsBefore(source, this.#offset);
    let n = 0;
    for (const item of this.#items(source, end)) {
      if ("bad" in item || this.#ids.add(item.event.id, item.seq)) yield item;
      if (++n % AT_ONCE === 0) await breathe();
      if (signal.aborted) return;
    }
  }

  /** The file was replaced by another: all of it is new. */
  #startOver(): void {
    this.#offset = 0;
    this.#again = undefined;
    this.#ids = undefined;
    this.#joining = new Joining();
    this.#isSure = true;
    this.#counted = { offset: 0, lines: 0 };
  }

  *#items(source: FileSource, end: number): Generator<Stored | BadLine> {
    if (this.#again !== undefined) {
      for (const line of forward(source, this.#again, this.#offset)) {
        this.#again = line.end < this.#offset ? line.end : undefined;
        for (const part of partsIn(line)) {
          if (part.event === undefined) yield* this.#piece(source, part, this.#offset);
          else this.#joining.saw(part.event);
        }
      }
      this.#again = undefined;
    }
    for (const line of forward(source, this.#offset, end)) {
      this.#offset = line.offset;
      if (line.truncated) yield* this.#tooLong(source, line);
      const parts = partsIn(line);
      for (const [i, part] of parts.entries()) yield* this.#part(source, part, parts[i + 1]?.seq ?? line.end);
      this.#offset = line.end;
    }
    this.#offset = end;
    const changed = source.stat().mtimeMs;
    const isOld = (since: string | undefined): boolean =>
      Date.now() - (since === undefined ? changed : Date.parse(since)) >= PATIENCE_MS;
    yield* this.#bad(source, this.#joining.giveUp(isOld));
    if (this.#joining.isEmpty) this.#isSure = end === 0;
  }

  *#part(source: FileSource, part: Part, next: number): Generator<Stored | BadLine> {
    if (part.event === undefined) {
      yield* this.#piece(source, part, next);
      return;
    }
    yield* this.#bad(source, this.#joining.passed(part.seq));
    this.#joining.saw(part.event);
    this.#offset = next;
    yield { event: part.event, seq: part.seq, next: this.#cursor() };
  }

  /** What becomes of a piece; `next` is where to go on behind it. */
  *#piece(source: FileSource, part: Part, next: number): Generator<Stored | BadLine> {
    if (!this.#isSure) this.#lookBack(source, part.seq);
    if (this.#joining.isEmpty && isBlank(part.bytes)) return;
    const { event, dead } = this.#joining.take(part);
    yield* this.#bad(
      source,
      dead.filter(({ seq }) => seq < part.seq),
    );
    this.#offset = next;
    yield* this.#bad(
      source,
      dead.filter(({ seq }) => seq === part.seq),
    );
    if (event !== undefined) yield { event, seq: part.seq, next: this.#cursor() };
  }

  /** Whoever begins in the middle may have passed the first pieces of what comes now. Their fate is no news. */
  #lookBack(source: FileSource, seq: number): void {
    this.#isSure = true;
    for (const line of forward(source, lineBefore(source, Math.max(0, seq - REACH_BYTES)), seq)) {
      for (const part of partsIn(line)) {
        if (part.event !== undefined) this.#joining.saw(part.event);
        else if (!(this.#joining.isEmpty && isBlank(part.bytes))) this.#joining.take(part);
      }
    }
    this.#joining.forgetNews();
  }

  /** `open`: the first piece that is still to be told of. */
  #cursor(open = this.#joining.open ?? this.#again): Cursor {
    return open === undefined || open >= this.#offset ? String(this.#offset) : `${this.#offset}-${open}`;
  }

  *#bad(source: FileSource, pieces: readonly Piece[]): Generator<BadLine> {
    for (const [i, { seq, bytes, reason }] of pieces.entries()) {
      const bad = { line: this.#lineAt(source, seq), seq, reason, length: bytes.length, bytes: Uint8Array.from(bytes) };
      yield { bad, next: this.#cursor(pieces[i + 1]?.seq) };
    }
  }

  *#tooLong(source: FileSource, { offset: seq, end, bytes }: Line): Generator<BadLine> {
    this.#offset = end;
    const [line, length] = [this.#lineAt(source, seq), end - seq - 1];
    const bad = { line, seq, reason: "longer than 16 MiB", length, bytes: Uint8Array.from(bytes) };
    yield { bad, next: this.#cursor() };
  }

  #lineAt(source: FileSource, seq: number): number {
    const log = new Log(source, new LineIndex(), { type: "line", json: true });
    if (seq < this.#counted.offset) this.#counted = { offset: 0, lines: 0 };
    this.#counted = { offset: seq, lines: this.#counted.lines + log.count(this.#counted.offset, seq) };
    return this.#counted.lines + 1;
  }
}

/** Blank lines hold nothing, but white space may be a piece of a text. */
function partsIn({ bytes, offset, truncated }: Line): Part[] {
  return truncated || bytes.length === 0 ? [] : partsOf(bytes, offset);
}

function idsBefore(source: FileSource, offset: number): RecentIds {
  const from = lineStartFrom(source, Math.max(0, offset - WINDOW_BYTES), offset);
  const bytes = Buffer.allocUnsafe(offset - from);
  source.read(bytes, from);
  const ids = function* (): Generator<{ id: string; seq: number }> {
    for (const line of forward(new BufferSource(bytes), 0, bytes.length))
      for (const { event, seq } of partsIn(line)) if (event !== undefined) yield { id: event.id, seq: from + seq };
  };
  return new RecentIds({ bytes, ids });
}
