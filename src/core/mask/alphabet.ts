/** The alphabets that keys are written in, and how far text goes on in one of them. */

const LETTERS = { digit: "0123456789", lower: "abcdefghijklmnopqrstuvwxyz", upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ" };
const BOTH = LETTERS.lower + LETTERS.upper + LETTERS.digit;

type Alphabet = "n" | "h" | "l" | "u" | "a" | "w" | "e" | "b" | "d" | "p" | "t" | "v" | "c" | "q" | "k";

/** By the letter that stands for it in a rule. */
const ALPHABETS: Readonly<Record<Alphabet, string>> = {
  n: LETTERS.digit,
  h: `${LETTERS.digit}abcdefABCDEF`,
  l: LETTERS.lower + LETTERS.digit,
  u: LETTERS.upper + LETTERS.digit,
  a: BOTH,
  w: `${BOTH}_-`,
  e: `${BOTH}_-=`,
  b: `${BOTH}+/=`,
  d: `${BOTH}_-.=`,
  p: `${BOTH}_-/@`,
  /** What stands behind `Bearer`. */
  t: `${BOTH}_-.=~+/:`,
  /** Names of variables. */
  c: `${LETTERS.upper}${LETTERS.digit}_`,
  /** Words, and names in programs. */
  q: `${LETTERS.lower}${LETTERS.upper}_-.$=`,
  /** The same without capitals. */
  k: `${LETTERS.lower}_-.$=`,
  /** What a value without quotes is made of: anything but spaces, quotes, commas, brackets that end something. */
  v: [...Array(94).keys()]
    .map((i) => String.fromCharCode(33 + i))
    .filter((sign) => !"\"'`,;&|<>)]}\\".includes(sign))
    .join(""),
};

const NAMES = Object.keys(ALPHABETS) as Alphabet[];

/** A bit for each alphabet that holds the byte. */
const BITS: Uint16Array = new Uint16Array(256);
for (const [i, name] of NAMES.entries())
  for (const sign of ALPHABETS[name]) BITS[sign.charCodeAt(0)] = (BITS[sign.charCodeAt(0)] as number) | (1 << i);

const WORD: Uint8Array = new Uint8Array(256);
for (const sign of `${BOTH}_`) WORD[sign.charCodeAt(0)] = 1;

/** A letter, a digit or _. */
export function isWord(byte: number | undefined): boolean {
  return byte !== undefined && WORD[byte] === 1;
}

export function isAlphabet(name: string): name is Alphabet {
  return Object.hasOwn(ALPHABETS, name);
}

/** Its place among the alphabets, by which `Stretches` and `isIn` know it. */
export function alphabet(name: Alphabet): number {
  return NAMES.indexOf(name);
}

export function isIn(which: number, byte: number | undefined): boolean {
  return byte !== undefined && (((BITS[byte] as number) >>> which) & 1) === 1;
}

/** Where stretches of one alphabet end. Each byte is looked at once for each alphabet, however often and from wherever it is asked. */
export class Stretches {
  readonly #bytes: Uint8Array;
  readonly #from: Int32Array = new Int32Array(NAMES.length).fill(-1);
  readonly #end: Int32Array = new Int32Array(NAMES.length).fill(-1);

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** The first position from `at` on that is not in this alphabet. */
  end(which: number, at: number): number {
    const known = this.#end[which] as number;
    if (at >= (this.#from[which] as number) && at <= known) return known;
    const { length } = this.#bytes;
    let end = at;
    while (end < length && (((BITS[this.#bytes[end] as number] as number) >>> which) & 1) === 1) end++;
    this.#from[which] = at;
    this.#end[which] = end;
    return end;
  }
}
