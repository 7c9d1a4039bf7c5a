/**
 * Finds at a glance where something may begin or end that has to be looked at: by parts of four characters, upper and lower case the
 * same. One look at each second byte, whatever the number of parts: nearly all text has nothing to hide.
 */

import { isIn } from "./alphabet.ts";

/** So far behind a part a look costs less than to tell of it. */
export const AHEAD = 4;
const WORD = "abcdefghijklmnopqrstuvwxyz0123456789_-+.";
/** What may stand behind a name and before its value; the last are the bytes that a space beyond ASCII begins with. */
const AFTER = "\"'\\:=> \t\n\r\v\f`\u00a0\u00c2\u00e1\u00e2\u00e3\u00ef";
const FILTER_BITS = 16;
const SLOT_BITS = 13;
const SLOTS = (1 << SLOT_BITS) - 1;
const MIX = 0x9e3779b1;
/** Makes of three letters small ones; of signs it makes others, which a filter may. */
const SMALL = 0x202020;
const LOWER = Uint8Array.from({ length: 256 }, (_, code) => (code >= 65 && code <= 90 ? code + 32 : code));

/** What to do at a hit, whose last byte is at `last`; returns where to go on, `last + 1` at the least. */
export type Visit = (which: number, last: number) => number;

export class Trigger {
  /** The first three and the last three characters of each part. */
  readonly #filter: Uint8Array = new Uint8Array(1 << FILTER_BITS);
  readonly #parts: Int32Array = new Int32Array(1 << SLOT_BITS);
  /** The kind of each part. */
  readonly #kinds: Uint16Array = new Uint16Array(1 << SLOT_BITS);

  /** The alphabet that goes on behind a part of a kind, or -1. */
  readonly #goesOnIn: Int8Array;

  /** `parts[i]` are the parts of kind i, `goesOnIn[i]` the alphabet that AHEAD more bytes behind it are of, if it is known; in a part # is a digit, ^ a hex digit, * a letter, digit or one of _-+. and ! what may follow a name. */
  constructor(parts: readonly (readonly string[])[], goesOnIn: readonly number[]) {
    this.#goesOnIn = new Int8Array(parts.length).fill(-1);
    this.#goesOnIn.set(goesOnIn);
    for (const [kind, list] of parts.entries())
      for (const part of list.flatMap(spellings)) {
        const window = [...part].reduce((sum, letter) => (sum << 8) | letter.charCodeAt(0), 0);
        for (const three of [window >>> 8, window]) this.#filter[inFilter(three)] = 1;
        let slot = firstSlot(window);
        while (this.#parts[slot] !== 0) slot = (slot + 1) & SLOTS;
        this.#parts[slot] = window;
        this.#kinds[slot] = kind;
      }
  }

  /** Whether there is a hit. */
  isIn(text: string): boolean {
    const { length } = text;
    for (let i = seekText(this.#filter, text, 0); i >= 0; i = seekText(this.#filter, text, i + 2))
      for (const last of [i + 2, i + 3]) {
        if (last < 3 || last >= length) continue;
        let window = 0;
        for (let at = last - 3; at <= last; at++) window = (window << 8) | (LOWER[unitAt(text, at)] as number);
        if (this.#has(window)) return true;
      }
    return false;
  }

  /** Every hit, first to last; one in what was passed over is not told. */
  visit(bytes: Uint8Array, visit: Visit): void {
    const end = bytes.length;
    let passed = 0;
    for (let i = seek(this.#filter, bytes, 0); i >= 0; ) {
      let next = i > passed ? this.#tell(bytes, i + 2, visit) : i + 3;
      const again = next === i + 3;
      if (again) next = i + 3 < end ? this.#tell(bytes, i + 3, visit) : i + 4;
      if (again && next === i + 4) next = i + 2;
      else passed = next;
      i = seek(this.#filter, bytes, next);
    }
  }

  #tell(bytes: Uint8Array, last: number, visit: Visit): number {
    const window = windowAt(bytes, last);
    for (let slot = firstSlot(window); this.#parts[slot] !== 0; slot = (slot + 1) & SLOTS) {
      if (this.#parts[slot] !== window) continue;
      const kind = this.#kinds[slot] as number;
      const which = this.#goesOnIn[kind] as number;
      if (which >= 0 && !goesOn(which, bytes, last + 1)) continue;
      const next = visit(kind, last);
      if (next > last + 1) return next;
    }
    return last + 1;
  }

  #has(window: number): boolean {
    for (let slot = firstSlot(window); this.#parts[slot] !== 0; slot = (slot + 1) & SLOTS)
      if (this.#parts[slot] === window) return true;
    return false;
  }
}

/**
 * The first of every second position from `from` on where three characters of a part may stand, or -1: of any four, the first three or the
 * last three begin at one of these. No call in the loop: behind one the engine cannot know that the bytes are still there.
 */
function seek(filter: Uint8Array, bytes: Uint8Array, from: number): number {
  const end = bytes.length - 2;
  if (from >= end) return -1;
  let first = bytes[from] as number;
  for (let i = from; i < end; i += 2) {
    const third = bytes[i + 2] as number;
    if (filter[inFilter((first << 16) | ((bytes[i + 1] as number) << 8) | third)] !== 0) return i;
    first = third;
  }
  return -1;
}

function seekText(filter: Uint8Array, text: string, from: number): number {
  for (let i = from; i < text.length - 2; i += 2)
    if (filter[inFilter((unitAt(text, i) << 16) | (unitAt(text, i + 1) << 8) | unitAt(text, i + 2))] !== 0) return i;
  return -1;
}

/** A space beyond Latin-1 is three bytes, the first of which is listed. */
function unitAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit < 256 ? unit : 0xe2;
}

/** Whether the next bytes are of an alphabet, as far as there are any. */
function goesOn(which: number, bytes: Uint8Array, from: number): boolean {
  const end = Math.min(from + AHEAD, bytes.length);
  for (let i = from; i < end; i++) if (!isIn(which, bytes[i])) return false;
  return true;
}

function windowAt(bytes: Uint8Array, last: number): number {
  const small = (at: number): number => LOWER[bytes[at] as number] as number;
  return (small(last - 3) << 24) | (small(last - 2) << 16) | (small(last - 1) << 8) | small(last);
}

function inFilter(three: number): number {
  return Math.imul((three & 0xffffff) | SMALL, MIX) >>> (32 - FILTER_BITS);
}

function firstSlot(window: number): number {
  return Math.imul(window, MIX) >>> (32 - SLOT_BITS);
}

function spellings(part: string): string[] {
  for (const [sign, letters] of [
    ["*", WORD],
    ["!", AFTER],
    ["#", "0123456789"],
    ["^", "0123456789abcdef"],
  ] as const) {
    const at = part.indexOf(sign);
    if (at >= 0) return [...letters].flatMap((letter) => spellings(part.slice(0, at) + letter + part.slice(at + 1)));
  }
  return [part.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())];
}
