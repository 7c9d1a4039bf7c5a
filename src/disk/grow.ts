/**
 * A large file that grows at its end and whose length its owner knows. What lies beyond that length was written by an owner that
 * died, or by a person: it is never overwritten, the whole file is kept aside first.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { diskFault, errno } from "./fault.ts";
import { keepAside, openFile, syncFolder } from "./replace.ts";

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const FLUSH_CHARS = 1 << 20;
const TAIL_BYTES = 4096;

/** How long a file is, and what its end looks like. */
export interface Extent {
  bytes: number;
  sha256: string;
}

export class Growing implements Disposable {
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

  [Symbol.dispose](): void {
    this.close();
  }
}

/** `longer`: all that is expected is there, and something behind it. */
export function compareExtent(path: string, expected: Extent): "same" | "longer" | "different" {
  try {
    using file = openFile(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = fstatSync(file.fd);
    if (size < expected.bytes || tailHash(file.fd, expected.bytes) !== expected.sha256) return "different";
    return size === expected.bytes ? "same" : "longer";
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ELOOP") return "different";
    throw diskFault(error, path);
  }
}

/** The file loses what is behind its first `bytes` bytes; as it was, it stays as `aside`. */
export function cutKeeping(path: string, bytes: number, aside: string): void {
  using source = openFile(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const temporary = `${path}.new`;
  using copy = new Growing(temporary, 0);
  const part = Buffer.alloc(FLUSH_CHARS);
  for (let at = 0; at < bytes; ) {
    const n = readSync(source.fd, part, 0, Math.min(part.length, bytes - at), at);
    if (n === 0) break;
    copy.writeBytes(part.subarray(0, n));
    at += n;
  }
  copy.sync();
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
