/** Whether a key of one rule stands at a place. No way back is ever tried, so that a look costs what the text has, once. */
import { alphabet, isAlphabet, isIn, isWord, type Stretches } from "./alphabet.ts";
import type { Rule } from "./rules.ts";
import { AHEAD } from "./trigger.ts";

interface Part {
  which: number;
  least: number;
  most: number;
}

export interface Shape {
  begins: Uint8Array;
  back: Part | undefined;
  parts: readonly (Part | Uint8Array)[];
  needs: Rule["needs"];
  alone: boolean;
  /** The four characters at whose sight it is looked for, and how far its beginning lies before the last of them. */
  sight: string;
  behind: number;
  /** The alphabet that AHEAD bytes behind the sight are of; -1 where that is not so. */
  goesOnIn: number;
}

/** One for each beginning. */
export function shapesOf({ begins, follows, back, needs, alone }: Rule): Shape[] {
  const parts = follows.split(" ").map((part) => partOf(part) ?? ascii(part));
  const first = parts[0] instanceof Uint8Array ? undefined : parts[0];
  return begins.split(" ").map((text) => {
    const seen = sightOf(text, back, first);
    const more = seen.behind + 1 - text.length;
    return {
      begins: ascii(text),
      back: back === undefined ? undefined : partOf(back),
      parts,
      needs,
      alone: alone === true,
      ...seen,
      goesOnIn: first !== undefined && more >= 0 && first.least >= more + AHEAD ? first.which : -1,
    };
  });
}

/** Four characters that few words have: with a sign between letters or a digit, if there are such. A shorter beginning takes from what is around it. */
function sightOf(text: string, back: string | undefined, next: Part | undefined): { sight: string; behind: number } {
  if (text.length >= 4) {
    const places = Array.from({ length: text.length - 3 }, (_, at) => at);
    const rarity = (at: number): number =>
      (/^.[^A-Za-z0-9]|^..[^A-Za-z0-9]/.test(text.slice(at, at + 4)) ? 2 : 0) +
      (/\d/.test(text.slice(at, at + 4)) ? 1 : 0);
    const best = places.toSorted((a, b) => rarity(b) - rarity(a))[0] as number;
    return { sight: text.slice(best, best + 4), behind: best + 3 };
  }
  const before = back === undefined ? "" : back.startsWith("n") ? "#" : "*";
  const around = (before + text).slice(0, 4);
  const behind = next?.which === alphabet("n") ? "#" : next?.which === alphabet("h") ? "^" : "*";
  return { sight: around + behind.repeat(4 - around.length), behind: 3 - before.length };
}

function partOf(text: string): Part | undefined {
  const found = /^([a-z])(\d+)(?:(\+)|-(\d+))?$/.exec(text);
  const [, name = "", least = "", open, most] = found ?? [];
  if (found === null || !isAlphabet(name)) return undefined;
  return {
    which: alphabet(name),
    least: Number(least),
    most: open === undefined ? Number(most ?? least) : Number.POSITIVE_INFINITY,
  };
}

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (sign) => sign.charCodeAt(0));
}

export interface Found {
  start: number;
  end: number;
}

/** At `at` its beginning would begin. `open`: at the end of the text a key that is cut off counts. */
export function matchShape(
  shape: Shape,
  bytes: Uint8Array,
  at: number,
  runs: Stretches,
  open: boolean,
): Found | undefined {
  const { begins, back, parts, needs, alone } = shape;
  if (at < 0 || !isAt(begins, bytes, at)) return undefined;
  const start = back === undefined ? at : backFrom(back, bytes, at);
  if (start < 0 || !mayBegin(bytes, start, alone)) return undefined;
  let end = at + begins.length;
  for (const part of parts) {
    if (open && end === bytes.length && end > at + begins.length) break;
    if (part instanceof Uint8Array) {
      if (!isAt(part, bytes, end)) return undefined;
      end += part.length;
      continue;
    }
    const stop = runs.end(part.which, end);
    const count = stop - end;
    const cut = open && stop === bytes.length && count > 0 && count <= part.most;
    if (!cut && (count < part.least || count > part.most)) return undefined;
    end = stop;
  }
  while (bytes[end - 1] === DOT) end--;
  if (!(open && end === bytes.length) && needs !== undefined) {
    const from = at + begins.length;
    if (runs.end(WORDY, from) >= end || !has(needs, bytes, from, end)) return undefined;
  }
  return { start, end };
}
const DOT = 46;
/** Without a digit, and known without a look at each of its letters. */
const WORDY = alphabet("q");

function isAt(text: Uint8Array, bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

function backFrom({ which, least, most }: Part, bytes: Uint8Array, at: number): number {
  let start = at;
  while (start > 0 && at - start <= most && isIn(which, bytes[start - 1]) && !isEscapeLetter(bytes, start - 1)) start--;
  const count = at - start;
  // An alphabet with a dot reaches into what stands before: as much as belongs to it is taken.
  if (count > most) return isWord(bytes[at - most - 1]) ? -1 : at - most;
  return count >= least ? start : -1;
}

/** Not within a word; the letter of `\n` or `\t` belongs neither to what is before it nor to what follows: `\napi_x` is no `napi_`. */
function mayBegin(bytes: Uint8Array, start: number, alone: boolean): boolean {
  const before = bytes[start - 1];
  if (before === undefined) return true;
  if (isEscapeLetter(bytes, start)) return false;
  if (isWord(before)) return isEscapeLetter(bytes, start - 1);
  return !alone || !(before === 43 || before === 47 || before === 46 || before === 45);
}

const ESCAPE_LETTERS: Uint8Array = new Uint8Array(256);
for (const letter of "nrtbfv0ae") ESCAPE_LETTERS[letter.charCodeAt(0)] = 1;

export function isEscapeLetter(bytes: Uint8Array, at: number): boolean {
  return bytes[at - 1] === 92 && ESCAPE_LETTERS[bytes[at] as number] === 1;
}

/** A key has them soon, and a look has to be short. */
const NEEDS_WITHIN = 32;

function has(needs: "digit" | "mixed", bytes: Uint8Array, from: number, to: number): boolean {
  let [digit, lower, upper] = [false, false, false];
  for (let i = from; i < Math.min(to, from + NEEDS_WITHIN); i++) {
    const byte = bytes[i] as number;
    if (byte >= 48 && byte <= 57) digit = true;
    else if (byte >= 97 && byte <= 122) lower = true;
    else if (byte >= 65 && byte <= 90) upper = true;
  }
  return digit && (needs === "digit" || (lower && upper));
}
