/** Reading a log in pieces: the last N lines by reverse scan, then forward in chunks. Memory is bounded whatever the file. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { errno } from "../disk/fault.ts";

const CHUNK = 256 * 1024;
const NEWLINE = 10;

/** An open log; undefined when it does not exist (yet). */
export class LogFile {
  readonly fd: number;

  private constructor(fd: number) {
    this.fd = fd;
  }

  static open(path: string): LogFile | undefined {
    try {
      return new LogFile(openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW));
    } catch (error) {
      if (errno(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  close(): void {
    closeSync(this.fd);
  }

  size(): number {
    return fstatSync(this.fd).size;
  }

  read(buffer: Uint8Array, offset: number): number {
    return readSync(this.fd, buffer, 0, buffer.length, offset);
  }

  /** Byte after the last newline before `end`: a living run may be in the middle of its last line. */
  wholeEnd(end: number): number {
    return this.#back(end, 1);
  }

  /** Where the last `lines` lines before `end` begin. */
  tailStart(end: number, lines: number): number {
    if (lines === 0 || end === 0) return end;
    const last = new Uint8Array(1);
    this.read(last, end - 1);
    return this.#back(last[0] === NEWLINE ? end - 1 : end, lines);
  }

  /** The byte after the count-th newline before `end`, looking backwards; 0 when there are fewer. */
  #back(end: number, count: number): number {
    const buffer = Buffer.allocUnsafe(CHUNK);
    let left = count;
    for (let to = end; to > 0; ) {
      const from = Math.max(0, to - CHUNK);
      const n = this.read(buffer.subarray(0, to - from), from);
      let at = buffer.lastIndexOf(NEWLINE, n - 1);
      while (at >= 0) {
        left--;
        if (left === 0) return from + at + 1;
        // An offset of -1 would mean the end of the buffer.
        at = at === 0 ? -1 : buffer.lastIndexOf(NEWLINE, at - 1);
      }
      to = from;
    }
    return 0;
  }

  /** The bytes from `from` to `to` in chunks; the file may grow meanwhile. */
  *chunks(from: number, to: number): Generator<Uint8Array> {
    for (let at = from; at < to; ) {
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK, to - at));
      const n = this.read(buffer, at);
      if (n === 0) return;
      yield buffer.subarray(0, n);
      at += n;
    }
  }
}

/** The length of the restart marker that begins run 2 and later; it is ours, not the agent's. */
export function markerLength(file: LogFile, run: number): number {
  if (run < 2) return 0;
  const head = Buffer.alloc(256);
  const n = file.read(head, 0);
  const end = head.subarray(0, n).indexOf(NEWLINE);
  return head.toString("latin1", 0, n).startsWith('{"type":"lifecycle","event":"agent_restart"') && end >= 0
    ? end + 1
    : 0;
}
