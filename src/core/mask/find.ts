/** Where secrets stand in some bytes: shapes, named values and armoured keys, in the bytes as a person sees them. */
import type { Span } from "../secret-values.ts";
import { Stretches } from "./alphabet.ts";
import { BLOCK, type BlockFound, Blocks } from "./blocks.ts";
import { ADDRESS, matchAddress, matchNamed, matchScheme, NAMES, SCHEMES, type Text, type Word } from "./named.ts";
import { PIECE } from "./pieces.ts";
import { RULES } from "./rules.ts";
import { type Found, matchShape, shapesOf } from "./shapes.ts";
import { Trigger } from "./trigger.ts";
import { ESCAPES, isVeiled, see, type View } from "./view.ts";

/** What is sought at a sight, by its number. */
const SHAPES = RULES.flatMap(shapesOf);
const [NAME, SCHEME] = [SHAPES.length, SHAPES.length + NAMES.length];
const ADDRESS_KIND = SCHEME + SCHEMES.length;
/** One more is the armoured key. At the sight of an escape the bytes are read as a person sees them. */
const ESCAPE_KIND = ADDRESS_KIND + 2;
const PIECE_KIND = ADDRESS_KIND + 3;

/** Made when the first text has to be looked at: many commands show none. */
function trigger(): Trigger {
  made ??= new Trigger(
    [...[...SHAPES, ...NAMES, ...SCHEMES].map(({ sight }) => [sight]), [ADDRESS], [BLOCK], [...ESCAPES], [PIECE]],
    SHAPES.map(({ goesOnIn }) => goesOnIn),
  );
  return made;
}
let made: Trigger | undefined;

/** Whether there can be anything at all: nearly all text has nothing. */
export function mayHide(text: string): boolean {
  return trigger().isIn(text) || text.includes("%") || text.includes("\u001b");
}

export interface Hidden {
  /** In order; none overlaps another. */
  spans: Span[];
  /** The text ends within an armoured key. */
  goesOn: boolean;
  /** It may be a piece of a text that comes in pieces. */
  isPiece: boolean;
  /** What a person sees, where that differs from the bytes. */
  view: View | undefined;
}

/** `open`: at the end of the bytes, what begins like a key counts as one, because the rest may come later. */
export function findSecrets(bytes: Uint8Array, open: boolean): Hidden {
  const plain = findIn(bytes, open, true);
  if (!plain.veiled) return { ...plain, view: undefined };
  const view = see(bytes);
  const seen = findIn(view.bytes, open, false);
  return { ...seen, spans: toBytes(view, seen.spans), view };
}

export function toBytes({ starts, ends }: View, spans: readonly Span[]): Span[] {
  return merged(spans.map(({ start, end }) => ({ start: starts[start] as number, end: ends[end - 1] as number })));
}

/** In order, with those that overlap as one. */
export function merged(spans: readonly Span[]): Span[] {
  if (spans.length < 2) return [...spans];
  const all: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

/** So many values are judged by all that is known of words and code, more in a longer text; what comes behind is hidden in doubt. */
const JUDGED_LEAST = 64;
const JUDGED_EVERY = 256;

type FoundIn = Omit<Hidden, "view"> & { veiled: boolean };

/** `asBytes`: it ends where an escape shows that a person sees something else. */
function findIn(bytes: Uint8Array, open: boolean, asBytes: boolean): FoundIn {
  const found: FoundIn = { spans: [], goesOn: false, isPiece: false, veiled: false };
  let text: (Text & { blocks: Blocks }) | undefined;
  let toJudge = JUDGED_LEAST + Math.floor(bytes.length / JUDGED_EVERY);
  trigger().visit(bytes, (kind, last) => {
    if (kind === PIECE_KIND) found.isPiece = true;
    if (kind === ESCAPE_KIND) found.veiled ||= asBytes;
    if (kind >= ESCAPE_KIND) return found.veiled ? bytes.length : last + 1;
    text ??= textOf(bytes, open, () => toJudge-- > 0);
    const one = match(kind, last, text);
    if (one === undefined) return last + 1;
    if ("goesOn" in one) {
      found.goesOn ||= one.goesOn;
      found.spans.push(...one.more);
    }
    if (one.end <= one.start) return last + 1;
    found.spans.push({ start: one.start, end: one.end });
    if (asBytes) found.veiled ||= hasEscape(bytes, last, one.end);
    return one.end;
  });
  if (asBytes) found.veiled ||= isVeiled(bytes);
  found.spans = merged(found.spans);
  return found;
}
/** Whether an escape of a letter begins in what a match passes over, or just behind it. */
function hasEscape(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i <= to; i++) if (bytes[i] === BACKSLASH && ESCAPED.has(bytes[i + 1] ?? 0)) return true;
  return false;
}
const BACKSLASH = 92;
const ESCAPED = new Set([..."ux0/"].map((sign) => sign.charCodeAt(0)));

function textOf(bytes: Uint8Array, open: boolean, judges: () => boolean): Text & { blocks: Blocks } {
  const runs = new Stretches(bytes);
  return { bytes, runs, open, judges, blocks: new Blocks(bytes, runs) };
}

function match(kind: number, last: number, text: Text & { blocks: Blocks }): Found | BlockFound | undefined {
  const { bytes, runs, open, blocks } = text;
  const shape = SHAPES[kind];
  if (shape !== undefined) return matchShape(shape, bytes, last - shape.behind, runs, open);
  if (kind < SCHEME) return matchNamed(NAMES[kind - NAME] as Word, text, last);
  if (kind < ADDRESS_KIND) return matchScheme(SCHEMES[kind - SCHEME] as Word, text, last);
  return kind === ADDRESS_KIND ? matchAddress(bytes, last, open) : blocks.match(last);
}
