/**
 * Files that grow at their end. Of a large one its owner knows the length. What lies beyond that was written by an owner that died, or
 * by a person: it is never overwritten, the whole file is kept aside first.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { diskFault, errno } from "./fault.ts";
import { keepAside, syncFolder } from "./replace.ts";

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const FLUSH_CHARS = 1 << 20;
const TAIL_BYTES = 4096;
const BACK = 64 << 10;
const NEWLINE = 10;

/** How long a file is, and what its end looks like. */
export interface Extent {
  bytes: number;
  sha256: string;
}

export class Growing {
  readonly #path: string;
  readonly #fd: number;
  #bytes: number;
  #text = "";
  #synced: number;

  /** Writes go behind the first `bytes` bytes; 0 begins anew. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.#synced = bytes === 0 ? -1 : bytes;
    try {
      this.#fd = openSync(path, bytes === 0 ? OPEN | constants.O_TRUNC : OPEN, 0o600);
    } catch (error) {
      throw diskFault(error, path);
    }
  }

  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= FLUSH_CHARS) this.#flush();
  }

  #flush(): void {
    const data = Buffer.from(this.#text);
    this.#text = "";
    this.writeBytes(data);
  }

  writeBytes(data: Uint8Array): void {
    try {
      for (let at = 0; at < data.length; ) at += writeSync(this.#fd, data, at, data.length - at, this.#bytes + at);
    } catch (error) {
      throw diskFault(error, this.#path);
    }
    this.#bytes += data.length;
  }

  /** Everything is on the disk when it returns. */
  sync(): Extent {
    this.#flush();
    if (this.#bytes !== this.#synced) fdatasyncSync(this.#fd);
    this.#synced = this.#bytes;
    return { bytes: this.#bytes, sha256: tailHash(this.#fd, this.#bytes) };
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** `longer`: all that is expected is there, and something behind it. */
export function compareExtent(path: string, expected: Extent): "same" | "longer" | "different" {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ELOOP") return "different";
    throw diskFault(error, path);
  }
  try {
    const { size } = fstatSync(fd);
    if (size < expected.bytes || tailHash(fd, expected.bytes) !== expected.sha256) return "different";
    return size === expected.bytes ? "same" : "longer";
  } finally {
    closeSync(fd);
  }
}

/** The file loses what is behind its first `bytes` bytes; as it was, it stays as `aside`. */
export function cutKeeping(path: string, bytes: number, aside: string): void {
  const source = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const temporary = `${path}.new`;
  const copy = new Growing(temporary, 0);
  try {
    const part = Buffer.alloc(FLUSH_CHARS);
    for (let at = 0; at < bytes; ) {
      const n = readSync(source, part, 0, Math.min(part.length, bytes - at), at);
      if (n === 0) break;
      copy.writeBytes(part.subarray(0, n));
      at += n;
    }
    copy.sync();
  } finally {
    copy.close();
    closeSync(source);
  }
  place(temporary, path, aside);
}

/** A finished file takes the place of another, which stays as `aside`. */
export function place(from: string, path: string, aside: string): void {
  try {
    keepAside(path, aside);
    renameSync(from, path);
    syncFolder(dirname(path));
  } catch (error) {
    throw diskFault(error, path);
  }
}

function tailHash(fd: number, bytes: number): string {
  const tail = Buffer.alloc(Math.min(bytes, TAIL_BYTES));
  const n = readSync(fd, tail, 0, tail.length, bytes - tail.length);
  return createHash("sha256").update(tail.subarray(0, n)).digest("hex");
}

/**
 * For a JSONL file that one process at a time lets grow, the one that holds a lock. What an earlier one left in mid-line when it was
 * killed is cut off first: nobody has read it, because readers take whole lines only. `lines` end with a newline, and are on the disk
 * when it returns.
 */
export function growLines(path: string, lines: Uint8Array): void {
  let fd: number | undefined;
  try {
    fd = openSync(path, OPEN, 0o600);
    const { size } = fstatSync(fd);
    const end = wholeSize(fd, size);
    if (end < size) ftruncateSync(fd, end);
    for (let at = 0; at < lines.length; ) at += writeSync(fd, lines, at, lines.length - at, end + at);
    fdatasyncSync(fd);
    if (size === 0) syncFolder(dirname(path));
  } catch (error) {
    throw diskFault(error, path);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function wholeSize(fd: number, size: number): number {
  const part = Buffer.alloc(BACK);
  for (let to = size; to > 0; ) {
    const from = Math.max(0, to - BACK);
    const n = readSync(fd, part, 0, to - from, from);
    const at = part.subarray(0, n).lastIndexOf(NEWLINE);
    if (at >= 0) return from + at + 1;
    to = from;
  }
  return 0;
}
