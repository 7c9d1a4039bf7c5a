/**
 * What a person sees of some bytes: `\u0041`, `\x41`, `\/` and `%41` are the letters that they stand for, also within each other, and
 * what moves or colours a terminal is not there. Behind each byte of the view stands where it comes from.
 */

export interface View {
  bytes: Uint8Array;
  /** Of each byte of the view, the first byte that it was made of and the one behind the last. */
  starts: Int32Array;
  ends: Int32Array;
}

const [ESC, BEL, BACKSLASH, PERCENT, SLASH, NEWLINE] = [27, 7, 92, 37, 47, 10];
const QUOTE = 34;
const [BRACKET, SQUARE_END, SMALL_U, SMALL_X, ZERO, THREE] = [91, 93, 117, 120, 48, 51];
/** Longer than any that a terminal obeys. */
const SEQUENCE_MOST = 64;
/** An address in a link may be long. */
const TITLE_MOST = 4096;
/** Stands for a letter beyond ASCII, which no key has. */
const OTHER = 255;

const HEX: Int8Array = new Int8Array(256).fill(-1);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Completes no escape and begins no sequence. */
const PLAIN: Uint8Array = Uint8Array.from(HEX, (value, byte) => (value < 0 && byte !== SLASH && byte !== ESC ? 1 : 0));

/** Whether a view would differ from the bytes, apart from `\/`, which only matters where there is something to hide. */
export function isVeiled(bytes: Uint8Array): boolean {
  if (bytes.includes(ESC)) return true;
  const first = bytes.indexOf(PERCENT);
  for (let i = first < 0 ? bytes.length : first; i < bytes.length; i++) {
    if (bytes[i] !== PERCENT) continue;
    if ((HEX[bytes[i + 1] ?? 0] as number) >= 0 && (HEX[bytes[i + 2] ?? 0] as number) >= 0) return true;
  }
  return false;
}

/** The escapes of letters that are seen by their first four characters. */
export const ESCAPES: readonly string[] = ["\\u00", "\\x1b", "\\033", ":\\/\\"];

export function see(bytes: Uint8Array): View {
  const maker = new Maker(bytes.length);
  for (let i = 0; i < bytes.length; i++) maker.take(bytes[i] as number, i);
  return maker.done();
}

/** A stack: each byte that arrives may make one of several that lie on top, or take them away. */
class Maker {
  readonly #out: Uint8Array;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  #length = 0;
  /** Where the sequence of a terminal begins that is not at its end yet. */
  #escape = -1;
  /** Titles and addresses of links: not seen, but there. */
  readonly #unseen: View[] = [];

  constructor(size: number) {
    this.#out = new Uint8Array(size);
    this.#starts = new Int32Array(size);
    this.#ends = new Int32Array(size);
  }

  take(byte: number, at: number): void {
    const out = this.#out;
    out[this.#length] = byte;
    this.#starts[this.#length] = at;
    this.#ends[this.#length] = at + 1;
    this.#length++;
    if (this.#escape < 0 && PLAIN[byte] === 1) return;
    while (this.#fold(at + 1));
    if (this.#escape >= 0) this.#sequence();
    else if (out[this.#length - 1] === ESC) this.#escape = this.#length - 1;
  }

  /** Makes one byte of an escape that is complete now; what comes out may complete another. */
  #fold(end: number): boolean {
    const out = this.#out;
    const n = this.#length;
    const last = out[n - 1] as number;
    if (last === SLASH) return n > 1 && out[n - 2] === BACKSLASH && this.#replace(n - 2, SLASH, end);
    const low = HEX[last] as number;
    if (low < 0 || n < 3) return false;
    const high = HEX[out[n - 2] as number] as number;
    if (high < 0) return false;
    if (out[n - 3] === PERCENT) return this.#replace(n - 3, high * 16 + low, end);
    if (last === THREE && out[n - 3] === ZERO && out[n - 2] === THREE && out[n - 4] === BACKSLASH)
      return this.#replace(n - 4, ESC, end);
    if (out[n - 3] === SMALL_X && out[n - 4] === BACKSLASH) return this.#replace(n - 4, high * 16 + low, end);
    if (n < 6 || out[n - 5] !== SMALL_U || out[n - 6] !== BACKSLASH) return false;
    const [first, second] = [HEX[out[n - 4] as number] as number, HEX[out[n - 3] as number] as number];
    if (first < 0 || second < 0) return false;
    return this.#replace(n - 6, first === 0 && second === 0 && high < 8 ? high * 16 + low : OTHER, end);
  }

  /** From here on all is one byte; of several backslashes (JSON in JSON) the others go with it. */
  #replace(from: number, byte: number, end: number): true {
    let to = from;
    while (this.#out[from] === BACKSLASH && to > 0 && this.#out[to - 1] === BACKSLASH) to--;
    this.#out[to] = byte;
    this.#ends[to] = end;
    this.#length = to + 1;
    return true;
  }

  #sequence(): void {
    const out = this.#out;
    const from = this.#escape;
    const last = this.#length - 1;
    if (last < from || out[from] !== ESC) this.#escape = -1;
    if (last <= from) return;
    const kind = out[from + 1];
    const byte = out[last] as number;
    // The end of a string of JSON: what comes behind it belongs to another.
    if (byte === QUOTE && out[last - 1] !== BACKSLASH) this.#escape = -1;
    else if (kind === BRACKET) {
      if (last === from + 1) return;
      if (byte >= 0x40 && byte <= 0x7e) this.#drop(from);
      else if (byte < 0x20 || byte > 0x7e || last - from > SEQUENCE_MOST) this.#escape = -1;
    } else if (kind === SQUARE_END) {
      if (byte === BEL || (byte === BACKSLASH && out[last - 1] === ESC)) this.#hide(from);
      else if (last - from > TITLE_MOST) this.#escape = -1;
    } else this.#drop(from);
  }

  #drop(from: number): void {
    this.#length = from;
    this.#escape = -1;
  }

  #hide(from: number): void {
    const [begin, end] = [from + 1, this.#length];
    this.#unseen.push({
      bytes: this.#out.slice(begin, end),
      starts: this.#starts.slice(begin, end),
      ends: this.#ends.slice(begin, end),
    });
    this.#drop(from);
  }

  /** What is not seen comes behind the rest, each on a line of its own. */
  done(): View {
    for (const { bytes, starts, ends } of this.#unseen) {
      this.#out[this.#length++] = NEWLINE;
      this.#out.set(bytes, this.#length);
      this.#starts.set(starts, this.#length);
      this.#ends.set(ends, this.#length);
      this.#length += bytes.length;
    }
    return {
      bytes: this.#out.subarray(0, this.#length),
      starts: this.#starts.subarray(0, this.#length),
      ends: this.#ends.subarray(0, this.#length),
    };
  }
}
