/**
 * Memory to read into, and the few loops that touch every byte. The memory is page-aligned: reading into an ordinary Buffer is
 * 3.6 times slower here (the kernel's copy is slow at odd addresses). Everything is by positions in `bytes`, so that another
 * implementation can work on the same memory without a copy.
 */
export const NEWLINE = 10;

export interface Scanner {
  readonly bytes: Buffer;
  countNewlines(from: number, to: number): number;
  /** The position just behind the n-th newline at or after `from`; -1 when there are fewer before `to`. */
  skipLines(from: number, to: number, n: number): number;
  /** The first position of `needle` that lies whole in [from, to), or -1. */
  indexOf(needle: Uint8Array, from: number, to: number): number;
}

const PAGE = 65_536;

/** Neither ES nor Node's types name it. */
declare const WebAssembly: { Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer } };

export function alignedBuffer(capacity: number): Buffer {
  return Buffer.from(new WebAssembly.Memory({ initial: Math.ceil(capacity / PAGE) }).buffer, 0, capacity);
}

export class PlainScanner implements Scanner {
  readonly bytes: Buffer;

  constructor(capacity: number) {
    this.bytes = alignedBuffer(capacity);
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
      if (at < 0) return -1;
    }
    return from + at + 1;
  }

  indexOf(needle: Uint8Array, from: number, to: number): number {
    const at = this.bytes.subarray(from, to).indexOf(needle);
    return at < 0 ? -1 : from + at;
  }
}
