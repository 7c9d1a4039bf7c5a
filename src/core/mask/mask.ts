/**
 * Hides secrets where text leaves midwatch; files keep exact bytes. Knows the shapes of common keys, the words people put before
 * a password, and by fingerprint the values that a run's environment holds, in text as a person sees it: behind escapes, colours and
 * percent signs. What is none of these cannot be known: this is a net, not a wall.
 */
import { MASK, replaceSpans, type SecretFinder, type Span } from "../secret-values.ts";
import { bodyLine } from "./blocks.ts";
import { findSecrets, type Hidden, mayHide, merged, toBytes } from "./find.ts";
import { type Piece, pieceOf, spansWithin } from "./pieces.ts";

export interface Masker {
  /** How many places were hidden so far. */
  readonly count: number;
  text(text: string): string;
  /** Every string in a JSON value, keys included. */
  value(value: unknown): unknown;
  /** What has nothing to hide stays byte for byte as it is, also when it is not UTF-8. */
  bytes(bytes: Buffer): Buffer;
  /** A line of a log; `before` tells of the lines before it, and is told of this one. */
  line(bytes: Buffer, before: Before): Buffer;
  /** The bytes of [from, to); of a secret that only reaches into them nothing is left either. `block`: they stand within an armoured key. */
  part(bytes: Buffer, from: number, to: number, block: boolean): Buffer;
  /** Whether `bytes` would leave them as they are. Counts nothing. */
  leaves(bytes: Buffer): boolean;
}

/** What earlier lines leave open. */
export interface Before {
  /** An armoured key has begun and not ended. */
  block: boolean;
  /** The last piece of a text that comes in pieces, one a line. */
  piece: Piece | undefined;
}

export function nothingBefore(): Before {
  return { block: false, piece: undefined };
}

export function masker(finder?: SecretFinder): Masker {
  let count = 0;
  const spansIn = (given: Uint8Array, open: boolean): Hidden => {
    const found = findSecrets(given, open);
    if (finder === undefined) return found;
    const values = finder.find(given);
    const seen = found.view === undefined ? [] : toBytes(found.view, finder.find(found.view.bytes));
    return values.length + seen.length === 0
      ? found
      : { ...found, spans: merged([...values, ...seen, ...found.spans]) };
  };
  const cut = (given: Buffer, spans: readonly Span[]): Buffer => {
    count += spans.length;
    return spans.length === 0 ? given : replaceSpans(given, spans);
  };
  const bytes = (given: Buffer): Buffer => cut(given, spansIn(given, false).spans);
  const text = (given: string): string => {
    if (given.length < 3 || (finder === undefined && !mayHide(given))) return given;
    const plain = Buffer.from(given);
    const shown = bytes(plain);
    return shown === plain ? given : shown.toString();
  };
  const value = (given: unknown): unknown => {
    if (typeof given === "string") return text(given);
    if (typeof given === "number") return finder !== undefined && text(String(given)) !== String(given) ? MASK : given;
    if (Array.isArray(given)) return given.map(value);
    if (typeof given !== "object" || given === null) return given;
    return Object.fromEntries(Object.entries(given).map(([key, inner]) => [text(key), named(key, inner)]));
  };
  /** `{"password": "x"}`: the key tells what the value is. */
  const named = (key: string, given: unknown): unknown => {
    const probe = `${key}":"`;
    if (typeof given !== "string" || !mayHide(probe)) return value(given);
    const start = Buffer.byteLength(probe);
    const { spans } = findSecrets(Buffer.from(`${probe}${given.slice(0, NAMED_MOST)}"`), false);
    if (!spans.some((span) => span.start === start)) return text(given);
    count++;
    return MASK;
  };
  return {
    get count() {
      return count;
    },
    text,
    value,
    bytes,
    line(given, before) {
      const { spans, goesOn, isPiece } = spansIn(given, false);
      const piece = isPiece ? pieceOf(given) : undefined;
      const body = before.block ? bodyLine(given) : undefined;
      const within = piece && spansWithin(piece, before.piece, (joined) => spansIn(joined, true));
      before.block = goesOn || body?.goesOn === true;
      before.piece = piece;
      if (body === undefined && within === undefined) return cut(given, spans);
      return cut(given, merged([...spans, ...(body?.spans ?? []), ...(within ?? [])]));
    },
    part(given, from, to, block) {
      const { spans } = spansIn(given, false);
      if (!block && spans.length === 0) return given.subarray(from, to);
      return replaceSpans(given, merged([...spans, ...(block ? bodyLine(given).spans : [])]), from, to);
    },
    leaves: (given) => spansIn(given, false).spans.length === 0,
  };
}
/** As much of a value is looked at to judge it by its name. */
const NAMED_MOST = 512;

/** Where no agent is known, and so no value. */
const general = masker();

export function maskText(text: string): string {
  return general.text(text);
}

export function maskValue(value: unknown): unknown {
  return general.value(value);
}
