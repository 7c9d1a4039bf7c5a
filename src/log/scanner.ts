/**
 * Memory to read into, and the few loops that touch every byte. Everything is by positions in `bytes`, so that the WebAssembly
 * kernel can work on the same memory without a copy; a range is [from, to). Both scanners give the same answers.
 */
import { LINE_DEPTH, parseWithin } from "../core/json.ts";
import { crc32c } from "./crc32c.ts";
import { alignedBuffer, type Kernel, makeKernel } from "./kernel.ts";

export const NEWLINE = 10;

/** A line of nothing but white space (an empty one, or the CR of an empty CRLF line) gives no record. */
export function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 13 && byte !== 32 && byte !== 9) return false;
  return true;
}

/** Given back when it is disposed of. */
export interface Scanner extends Disposable {
  readonly bytes: Buffer;
  countNewlines(from: number, to: number): number;
  /** The position just behind the n-th newline at or after `from`; when there are only k before `to`: -1 - k. */
  skipLines(from: number, to: number, n: number): number;
  /** The first position of `needle` that lies whole in [from, to), or -1. */
  indexOf(needle: Uint8Array, from: number, to: number): number;
  /** Of these bytes when `before` is 0, else of all that gave `before` and these. */
  crc32c(before: number, from: number, to: number): number;
  /** Would JSON.parse take it, is it UTF-8, and no deeper than LINE_DEPTH? */
  isJson(from: number, to: number): boolean;
  /** Where the first line begins that is neither JSON nor blank; -1 when there is none. */
  badLine(from: number, to: number): number;
}

const IDLE_MAX = 4;
const idle: Scanner[] = [];

/** One with at least this many bytes. Give it back: the memory of a scanner is dear, and collected late. */
export function makeScanner(capacity: number): Scanner {
  const i = idle.findIndex(({ bytes }) => bytes.length >= capacity);
  const [found] = i < 0 ? [] : idle.splice(i, 1);
  return found ?? KernelScanner.make(capacity) ?? new PlainScanner(capacity);
}

/** Nobody may use it, or its bytes, afterwards. */
export function giveBack(scanner: Scanner): void {
  if (idle.includes(scanner)) throw new Error("a scanner was given back twice");
  idle.unshift(scanner);
  idle.sort((a, b) => a.bytes.length - b.bytes.length); // The smallest that will do is taken, and of these the last used.
  if (idle.length > IDLE_MAX) idle.shift();
}

export function withScanner<T>(capacity: number, use: (scanner: Scanner) => T): T {
  using scanner = makeScanner(capacity);
  return use(scanner);
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

export class PlainScanner implements Scanner {
  readonly bytes: Buffer;

  constructor(memory: number | Buffer) {
    this.bytes = typeof memory === "number" ? alignedBuffer(memory) : memory;
  }

  countNewlines(from: number, to: number): number {
    const part = this.bytes.subarray(from, to);
    let count = 0;
    for (let at = part.indexOf(NEWLINE); at >= 0; at = part.indexOf(NEWLINE, at + 1)) count++;
    return count;
  }

  skipLines(from: number, to: number, n: number): number {
    const part = this.bytes.subarray(from, to);
    let at = -1;
    for (let left = n; left > 0; left--) {
      at = part.indexOf(NEWLINE, at + 1);
      if (at < 0) return left - n - 1;
    }
    return from + at + 1;
  }

  indexOf(needle: Uint8Array, from: number, to: number): number {
    const at = this.bytes.subarray(from, to).indexOf(needle);
    return at < 0 ? -1 : from + at;
  }

  crc32c(before: number, from: number, to: number): number {
    return crc32c(before, this.bytes.subarray(from, to));
  }

  isJson(from: number, to: number): boolean {
    return parses(this.bytes.subarray(from, to));
  }

  badLine(from: number, to: number): number {
    const part = this.bytes.subarray(from, to);
    for (let at = 0; at < part.length; ) {
      const newline = part.indexOf(NEWLINE, at);
      const line = part.subarray(at, newline < 0 ? part.length : newline);
      // Only a line that begins with white space, or is empty, can be blank.
      if (((part[at] as number) > 32 || !isBlank(line)) && !parses(line)) return from + at;
      at += line.length + 1;
    }
    return -1;
  }

  [Symbol.dispose](): void {
    giveBack(this);
  }
}

function parses(bytes: Uint8Array): boolean {
  try {
    parseWithin(utf8.decode(bytes), LINE_DEPTH);
    return true;
  } catch {
    return false;
  }
}

/** How much of the bytes is looked at to see which of a needle's are rare. */
const SAMPLE = 4096;
const VALID = -1;

export class KernelScanner extends PlainScanner {
  readonly #kernel: Kernel;
  readonly #memory: Uint8Array;
  readonly #base: number;
  #sought: { needle: Uint8Array; sample: number; rare: [number, number] } | undefined;

  /** Undefined when there is no kernel here. */
  static make(capacity: number): KernelScanner | undefined {
    const made = makeKernel(capacity);
    return made && new KernelScanner(made.kernel, made.memory, capacity);
  }

  private constructor(kernel: Kernel, memory: ArrayBuffer, capacity: number) {
    super(Buffer.from(memory, kernel.BYTES.value, capacity));
    this.#kernel = kernel;
    this.#memory = new Uint8Array(memory);
    this.#base = kernel.BYTES.value;
  }

  override countNewlines(from: number, to: number): number {
    return this.#kernel.countNewlines(this.#base + from, this.#base + to);
  }

  override skipLines(from: number, to: number, n: number): number {
    if (n <= 0) return from;
    const found = this.#kernel.skipLines(this.#base + from, this.#base + to, n);
    return found < 0 ? found : found - this.#base;
  }

  override indexOf(needle: Uint8Array, from: number, to: number): number {
    const { length } = needle;
    if (length === 0 || length > this.#kernel.NEEDLE_MAX.value) return super.indexOf(needle, from, to);
    const sample = Math.min(to - from, SAMPLE);
    // What a small log told serves other small ones; a larger one is asked itself.
    if (this.#sought?.needle !== needle || sample > 4 * this.#sought.sample) {
      this.#sought = { needle, sample, rare: rarest(needle, this.bytes.subarray(from, from + sample)) };
    }
    const [a, b] = this.#sought.rare;
    this.#memory.set(needle, this.#kernel.NEEDLE.value);
    return this.#position(this.#kernel.find(this.#base + from, this.#base + to, length, a, b));
  }

  override crc32c(before: number, from: number, to: number): number {
    return this.#kernel.crc32c(before, this.#base + from, this.#base + to) >>> 0;
  }

  override isJson(from: number, to: number): boolean {
    return this.#kernel.validate(this.#base + from, this.#base + to) === VALID;
  }

  override badLine(from: number, to: number): number {
    return this.#position(this.#kernel.badLine(this.#base + from, this.#base + to));
  }

  #position(address: number): number {
    return address < 0 ? -1 : address - this.#base;
  }
}

/** Where the two bytes of the needle are that the sample has least of: most places in a log are then passed over at once. */
function rarest(needle: Uint8Array, sample: Uint8Array): [number, number] {
  const counts = new Uint16Array(256);
  for (const byte of sample) counts[byte] = (counts[byte] as number) + 1;
  const count = (i: number): number => counts[needle[i] as number] as number;
  let [a, b] = [0, needle.length - 1];
  for (let i = 1; i < needle.length; i++) {
    if (count(i) < count(a)) [a, b] = [i, a];
    else if (count(i) < count(b) && i !== a) b = i;
  }
  return [a, b];
}
