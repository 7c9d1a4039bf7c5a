/**
 * Finds at a glance where something may begin or end that has to be looked at: by parts of four characters, upper and lower case the
 * same. One look at each byte, whatever the number of parts: nearly all text has nothing to hide.
 */

const WORD = "abcdefghijklmnopqrstuvwxyz0123456789_-+.";
/** What may stand behind a name and before its value; the last are the bytes that a space beyond ASCII begins with. */
const AFTER = "\"'\\:=> \t\n\r\v\f`\u00a0\u00c2\u00e1\u00e2\u00e3\u00ef";
const FILTER_BITS = 16;
const SLOT_BITS = 13;
const MIX = 0x9e3779b1;
/** Marks what letters can hide behind (ESC and %); the mark spills into a character before it, in parts that nobody looks for. */
const RARE = 256;
const LOWER = Uint16Array.from({ length: 256 }, (_, code) =>
  code === 27 || code === 37 ? code | RARE : code >= 65 && code <= 90 ? code + 32 : code,
);

/** What to do at a hit, whose last byte is at `last`; returns where to go on, `last + 1` at the least. */
export type Visit = (which: number, last: number) => number;

export class Trigger {
  readonly #filter: Uint8Array = new Uint8Array(1 << FILTER_BITS);
  readonly #parts: Int32Array = new Int32Array(1 << SLOT_BITS);
  /** Behind each part the number of its kind, from 1 on. */
  readonly #kinds: Uint16Array = new Uint16Array(1 << SLOT_BITS);

  /** `parts[i]` are the parts of kind i; in one # is a digit, ^ a hex digit, * a letter, digit or one of _-+. and ! what may follow a name. */
  constructor(parts: readonly (readonly string[])[]) {
    for (const [kind, list] of parts.entries())
      for (const part of list.flatMap(spellings)) {
        const window = [...part].reduce((sum, letter) => (sum << 8) | letter.charCodeAt(0), 0);
        const hash = Math.imul(window, MIX);
        this.#filter[hash >>> (32 - FILTER_BITS)] = 1;
        let slot = hash >>> (32 - SLOT_BITS);
        while (this.#kinds[slot] !== 0) slot = (slot + 1) & ((1 << SLOT_BITS) - 1);
        this.#parts[slot] = window;
        this.#kinds[slot] = kind + 1;
      }
  }

  /** Whether there is a hit, or a byte that letters can hide behind. */
  isIn(text: string): boolean {
    const filter = this.#filter;
    const lower = LOWER;
    const { length } = text;
    let window = 0;
    let seen = 0;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      // A space beyond Latin-1 is three bytes, the first of which is listed.
      const code = unit < 256 ? (lower[unit] as number) : 0xe2;
      seen |= code;
      window = (window << 8) | code;
      const hash = Math.imul(window, MIX);
      if (filter[hash >>> (32 - FILTER_BITS)] !== 0 && this.#has(window, hash)) return true;
    }
    return (seen & RARE) !== 0;
  }

  /** Every hit, first to last; one in what was passed over is not told. Returns whether there was a byte that letters can hide behind. */
  visit(bytes: Uint8Array, visit: Visit): boolean {
    this.#window = 0;
    this.#seen = 0;
    for (let last = this.#next(bytes, 0); last >= 0; ) {
      const window = this.#window;
      const next = this.#tell(window, last, visit);
      this.#window = next > last + 1 ? 0 : window;
      last = this.#next(bytes, next);
    }
    return (this.#seen & RARE) !== 0;
  }
  #window = 0;
  #seen = 0;

  /** Where the next hit ends, or -1. Nothing but local numbers in the loop, and no call: it sees every byte. */
  #next(bytes: Uint8Array, from: number): number {
    const filter = this.#filter;
    const kinds = this.#kinds;
    const parts = this.#parts;
    const lower = LOWER;
    const { length } = bytes;
    let window = this.#window;
    let seen = this.#seen;
    let found = -1;
    for (let i = from; i < length; i++) {
      const code = lower[bytes[i] as number] as number;
      seen |= code;
      window = (window << 8) | code;
      const hash = Math.imul(window, MIX);
      if (filter[hash >>> (32 - FILTER_BITS)] === 0) continue;
      let slot = hash >>> (32 - SLOT_BITS);
      while (kinds[slot] !== 0 && parts[slot] !== window) slot = (slot + 1) & ((1 << SLOT_BITS) - 1);
      if (kinds[slot] === 0) continue;
      found = i;
      break;
    }
    this.#window = window;
    this.#seen = seen;
    return found;
  }

  #tell(window: number, last: number, visit: Visit): number {
    const first = Math.imul(window, MIX) >>> (32 - SLOT_BITS);
    for (let slot = first; this.#kinds[slot] !== 0; slot = (slot + 1) & ((1 << SLOT_BITS) - 1)) {
      if (this.#parts[slot] !== window) continue;
      const next = visit((this.#kinds[slot] as number) - 1, last);
      if (next > last + 1) return next;
    }
    return last + 1;
  }

  #has(window: number, hash: number): boolean {
    for (let slot = hash >>> (32 - SLOT_BITS); this.#kinds[slot] !== 0; slot = (slot + 1) & ((1 << SLOT_BITS) - 1))
      if (this.#parts[slot] === window) return true;
    return false;
  }
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
