/**
 * A text that a CLI prints in pieces, one a line (`"text_delta","text":"ghp_abc"`): a secret may be cut in two. What is behind a
 * beginning that is known is hidden at once, before it is known whether it goes on; the beginning itself may be cut, and tells nothing.
 */
import type { Span } from "../secret-values.ts";

export interface Piece {
  /** Which text it belongs to. */
  of: string;
  /** The end of all that came so far, as it stands in the line. */
  text: Buffer;
  /** Where it begins in its line. */
  at: number;
}

/** At its sight a line is looked at. */
export const PIECE = "delt";
/** A piece is a few words; what is longer is a message, which stands on its own. */
const LINE_MOST = 64 << 10;
/** Longer than what tells a key before its secret part; of an armoured key all is kept. */
const KEPT = 256;
const BLOCK_KEPT = 16 << 10;
const FIELD = /"(text|content|delta|partial_json|thinking|output|arguments)":"((?:[^"\\]|\\.)*)"/g;

/** Undefined when the line holds no piece. */
export function pieceOf(line: Buffer): Piece | undefined {
  if (line.length > LINE_MOST || line[0] !== 123) return undefined;
  const text = line.toString("latin1");
  const found = [...text.matchAll(FIELD)].at(-1);
  const [whole, field, content] = found ?? [];
  if (found === undefined || whole === undefined || field === undefined || content === undefined) return undefined;
  const at = found.index + whole.length - 1 - content.length;
  return { of: field, text: line.subarray(at, at + content.length), at };
}

/** What is to be hidden in a piece, behind the one before it. The piece is made to hold what the next has to know. */
export function spansWithin(
  piece: Piece,
  before: Piece | undefined,
  find: (joined: Buffer) => { spans: Span[]; goesOn: boolean },
): Span[] {
  const { at } = piece;
  const { length } = piece.text;
  const earlier = before?.of === piece.of ? before.text : Buffer.alloc(0);
  const joined = Buffer.concat([earlier, piece.text]);
  const { spans, goesOn } = find(joined);
  piece.text = Buffer.from(joined.subarray(goesOn ? -BLOCK_KEPT : -KEPT));
  return spans
    .filter(({ end }) => end > earlier.length)
    .map(({ start, end }) => ({
      start: at + Math.max(0, start - earlier.length),
      end: at + Math.min(length, end - earlier.length),
    }));
}
