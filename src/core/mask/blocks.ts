/** Private keys in armour: `-----BEGIN ... PRIVATE KEY-----`, its body, `-----END ...-----`, in one text or line by line. */
import { alphabet, isIn, type Stretches } from "./alphabet.ts";
import { type Found, isEscapeLetter } from "./shapes.ts";

export const BLOCK = "--be";
const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const BEGIN_MOST = 90;
/** Longer than any key. */
const BODY_MOST = 64 << 10;
const END = Buffer.from("-----END");
const BASE64 = alphabet("b");
/** A line of a body is longer, but for the last. */
const LINE_LEAST = 16;
const [QUOTE, BACKSLASH] = [34, 92];
/** Within other text a stretch of base64 counts as a line of a body from here on. */
const WITHIN_LEAST = 40;

export interface BlockFound extends Found {
  /** The text ends before the key does. */
  goesOn: boolean;
  /** Lines of its body in strings of their own: `["-----BEGIN ...", "MII...", ...]`. */
  more: Found[];
}

/** Looks for blocks in one text, from first to last. */
export class Blocks {
  readonly #bytes: Buffer;
  readonly #runs: Stretches;
  #end = -2;

  constructor(bytes: Uint8Array, runs: Stretches) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#runs = runs;
  }

  /** `last` is where the sight of a beginning ends. Empty when only the beginning is there. */
  match(last: number): BlockFound | undefined {
    const start = last - 6;
    if (start < 0) return undefined;
    BEGIN.lastIndex = 0;
    const head = BEGIN.exec(this.#bytes.toString("latin1", start, start + BEGIN_MOST))?.[0];
    if (head === undefined) return undefined;
    const from = start + head.length;
    const end = this.#endBehind(from);
    const body = bodyFrom(this.#bytes, from, this.#runs);
    const quote = this.#quoteBehind(from);
    const whole = end >= 0 && end - from <= BODY_MOST && (quote < 0 || quote > end);
    if (whole && (body.long || body.end >= end - 8)) return { start, end: this.#behind(end), goesOn: false, more: [] };
    if (body.end === this.#bytes.length) return { start: body.start, end: body.end, goesOn: true, more: [] };
    const more = end >= 0 && end - from <= BODY_MOST ? this.#longRuns(body.end, end) : [];
    return body.long || more.length > 0 ? { start: body.start, end: body.end, goesOn: false, more } : undefined;
  }

  /** The next end from here on, looked for once. */
  #endBehind(from: number): number {
    if (this.#end !== -1 && this.#end < from) this.#end = this.#bytes.indexOf(END, from);
    return this.#end;
  }

  /** The next quote from here on that ends a string, looked for once. */
  #quoteBehind(from: number): number {
    while (this.#quote !== -1 && (this.#quote < from || this.#bytes[this.#quote - 1] === BACKSLASH))
      this.#quote = this.#bytes.indexOf(QUOTE, Math.max(from, this.#quote + 1));
    return this.#quote;
  }
  #quote = -2;

  #longRuns(from: number, to: number): Found[] {
    const text = this.#bytes.toString("latin1", from, to);
    return [...text.matchAll(/[A-Za-z0-9+/=]{40,}/g)].map(({ 0: run, index }) => ({
      start: from + behindEscape(text, index),
      end: from + index + run.length,
    }));
  }

  #behind(end: number): number {
    const dashes = this.#bytes.indexOf("-----", end + END.length);
    return dashes >= 0 && dashes - end < BEGIN_MOST ? dashes + 5 : end + END.length;
  }
}

/** As far as base64 goes on, over ends of lines, quotes and escapes. */
function bodyFrom(bytes: Uint8Array, from: number, runs: Stretches): { start: number; end: number; long: boolean } {
  let [start, end, long] = [-1, from, false];
  for (let at = from; at < bytes.length && at - from < BODY_MOST; ) {
    const byte = bytes[at] as number;
    if (byte === QUOTE && bytes[at - 1] !== BACKSLASH) break;
    if (byte <= 32 || byte === QUOTE || byte === 39 || byte === 44 || byte === 92 || isEscapeLetter(bytes, at)) {
      at++;
      if (at === bytes.length) end = at;
      continue;
    }
    const stop = runs.end(BASE64, at);
    // A header of the armour, such as `Version: x`, is not looked through: what has an end is found by that.
    if (stop === at || bytes[stop] === 58) break;
    if (start < 0) start = at;
    long ||= stop - at >= LINE_LEAST;
    at = stop;
    end = stop;
  }
  return { start: start < 0 ? end : start, end, long };
}

/** The letter of an escape is not the key's. */
function behindEscape(text: string, at: number): number {
  return text[at - 1] !== "\\" ? at : at + (text[at] === "u" ? 5 : 1);
}

/** A line while a key goes on: what of it is the key's, and whether the key goes on behind it. */
export function bodyLine(line: Uint8Array): { spans: Found[]; goesOn: boolean } {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString("latin1");
  const spans: Found[] = [];
  const end = text.indexOf("-----END");
  const upTo = end < 0 ? text.length : end;
  for (const { 0: found, index } of text.slice(0, upTo).matchAll(/[A-Za-z0-9+/=]{16,}/g)) {
    const behind = text.slice(index + found.length, upTo);
    const start = behindEscape(text, index);
    if (found.length >= WITHIN_LEAST || /^(?:[\s"',;+]|\\[nr])*$/.test(behind))
      spans.push({ start, end: index + found.length });
  }
  if (end >= 0) return { spans, goesOn: false };
  if (spans.length > 0) return { spans, goesOn: true };
  const short = /^[\s|>+]*([A-Za-z0-9+/=]+)\s*$/.exec(text);
  if (short?.[1] !== undefined) {
    const start = text.indexOf(short[1], short[0].length - short[0].trimStart().length);
    return { spans: [{ start, end: start + short[1].length }], goesOn: true };
  }
  return { spans, goesOn: /^\s*(?:[\w-]{3,30}: [^{}]{0,150})?\s*$/.test(text) };
}

/** Whether text that ends here ends within a key. */
export function isWithin(before: Buffer): boolean {
  const begin = before.lastIndexOf("PRIVATE KEY");
  if (begin < 0 || before.lastIndexOf("-----BEGIN", begin) < 0 || before.indexOf(END, begin) >= 0) return false;
  let within = false;
  let first = true;
  for (let at = before.lastIndexOf("-----BEGIN", begin); at < before.length; ) {
    const newline = before.indexOf(10, at);
    const line = before.subarray(at, newline < 0 ? before.length : newline);
    within = first || bodyLine(line).goesOn;
    if (!within) return false;
    first = false;
    at = newline < 0 ? before.length : newline + 1;
  }
  return within;
}

/** Whether a line could be one of a key's body: then it is worth to look what stood before it. */
export function looksLikeBody(line: Uint8Array): boolean {
  let run = 0;
  for (const byte of line) {
    run = isIn(BASE64, byte) ? run + 1 : 0;
    if (run >= LINE_LEAST) return true;
  }
  return run > 0 && run === line.length;
}
