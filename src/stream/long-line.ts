/**
 * A line that is too long to be held, piece by piece, with the same hidden in it as in a short one. It is cut only where nothing near the
 * cut is to be hidden, so that no secret is torn into two halves that look like none.
 */
import type { Masker } from "../core/mask/mask.ts";
import type { Source } from "../log/source.ts";
import type { LogItem } from "./read.ts";

const PIECE = 1 << 20;
/** No key of a known shape is longer. */
const SIDE = 16 << 10;
/** As much is held where one secret follows the other. */
const PIECE_MOST = 16 << 20;

/** Returns whether all of it was given. */
export function* longLine({ raw, source }: LogItem, masker: Masker | undefined): Generator<Buffer, boolean> {
  const end = raw.end - (raw.whole ? 1 : 0);
  for (let at = raw.offset; at < end; ) {
    const to = cutBehind(source, at, end, masker);
    const bytes = bytesOf(source, at, to ?? at + PIECE);
    if (bytes.length === 0) return false; // The file has become shorter.
    const shown = masker?.bytes(bytes) ?? bytes;
    yield to === undefined ? shown.subarray(0, -SIDE) : shown; // Half a secret could stand at its end.
    if (to === undefined) return false;
    at = to;
  }
  return true;
}

function cutBehind(source: Source, from: number, end: number, masker: Masker | undefined): number | undefined {
  for (let to = from + PIECE; to - from <= PIECE_MOST; to += SIDE) {
    if (to >= end) return end;
    if (masker?.leaves(bytesOf(source, to - SIDE, Math.min(end, to + SIDE))) ?? true) return to;
  }
  return undefined;
}

function bytesOf(source: Source, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe(to - from);
  return bytes.subarray(0, source.read(bytes, from));
}
