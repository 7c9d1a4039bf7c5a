/**
 * Appends whole records to a JSONL file of ours. Many processes may do so at once without a lock: each call is one
 * O_APPEND write of complete lines, which the kernel does not interleave (measured: none of 6 million lines). What it does not protect
 * against is a writer that died or met a full disk in mid-line: the next append closes such a tail with a newline first.
 */
import { constants, fdatasyncSync, fstatSync, ftruncateSync, readSync, type Stats, writeSync } from "node:fs";
import { dirname } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { diskFault, errno } from "./fault.ts";
import { makeFolders } from "./make-folders.ts";
import { openFile, syncFolder } from "./replace.ts";

const GROW = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const OPEN = GROW | constants.O_APPEND;
const BACK = 64 << 10;
const TRIES = 3;
const NEWLINE = 10;
const clock = new Int32Array(new SharedArrayBuffer(4));

export interface AppendOptions {
  /** Return only when the records are on stable storage. */
  sync?: boolean;
}

/** Appends each record as one line. Throws DISK_FULL, NOT_WRITABLE; the file stays readable in every case. */
export function append(path: string, records: readonly object[], options: AppendOptions = {}): void {
  if (records.length === 0) return;
  appendLines(path, Buffer.from(`${records.map((record) => JSON.stringify(record)).join("\n")}\n`), options);
}

/** As `append`, for lines that are bytes already; `lines` must end with a newline. */
export function appendLines(path: string, lines: Uint8Array, options: AppendOptions = {}): void {
  let rest = lines;
  for (let attempt = 1; ; attempt++) {
    try {
      using file = openFile(path, OPEN, 0o600);
      const isNew = assertOurs(file.fd, path).size === 0;
      while (rest.length > 0) {
        const { whole, begun } = writeWhole(file.fd, rest);
        if (begun.length > 0) blank(path, begun);
        rest = rest.subarray(whole);
      }
      if (options.sync === true) fdatasyncSync(file.fd);
      if (options.sync === true && isNew) syncFolder(dirname(path)); // What is in a file is lost with its name.
      return;
    } catch (error) {
      if (attempt >= TRIES || !mayPass(error)) throw diskFault(error, path);
      if (errno(error) === "ENOENT") makeFolders(dirname(path));
      else sleep(10 * 4 ** (attempt - 1));
    }
  }
}

/** All lines through an open O_APPEND descriptor, in as few writes as the kernel takes. */
export function appendAll(fd: number, lines: Uint8Array): void {
  for (let rest = lines; rest.length > 0; ) rest = rest.subarray(writeWhole(fd, rest).whole);
}

/**
 * One write. `whole`: how many bytes of whole lines arrived. After a short write the `begun` record is not completed but
 * written again: in between another process may have appended, and its line must not end up inside ours.
 */
function writeWhole(fd: number, lines: Uint8Array): { whole: number; begun: Uint8Array } {
  const torn = isTorn(fd);
  const buffer = torn ? Buffer.concat([Buffer.of(NEWLINE), lines]) : lines;
  const written = Math.max(0, writeSync(fd, buffer) - (torn ? 1 : 0));
  const whole = lines.subarray(0, written).lastIndexOf(NEWLINE) + 1;
  return { whole, begun: lines.subarray(whole, written) };
}

/**
 * A full disk took the beginning of a record. It becomes an empty line, in its place: that needs no room, and what others have appended
 * since stays as it is. Where even that fails the next append closes the line.
 */
function blank(path: string, begun: Uint8Array): void {
  try {
    using file = openFile(path, constants.O_RDWR | constants.O_NOFOLLOW, 0o600);
    const { size } = fstatSync(file.fd);
    const from = Math.max(0, size - begun.length - BACK);
    const tail = Buffer.alloc(size - from);
    const bytes = tail.subarray(0, readSync(file.fd, tail, 0, tail.length, from));
    const at = bytes.lastIndexOf(begun);
    const [before, behind] = [at > 0 ? bytes[at - 1] : NEWLINE, bytes[at + begun.length] ?? NEWLINE];
    if (at < 0 || before !== NEWLINE || behind !== NEWLINE) return;
    const empty = Buffer.alloc(begun.length, " ");
    if (at + begun.length === bytes.length) empty[empty.length - 1] = NEWLINE;
    writeSync(file.fd, empty, 0, empty.length, from + at);
  } catch {
    // The append itself says what is wrong with the disk.
  }
}

/** Whether the file ends in mid-line because its writer is gone, and not because a write is under way just now. */
function isTorn(fd: number): boolean {
  let size = -1;
  for (;;) {
    const now = fstatSync(fd).size;
    const last = Buffer.alloc(1);
    if (now === 0 || readSync(fd, last, 0, 1, now - 1) === 0 || last[0] === NEWLINE) return false;
    if (now === size) return true;
    size = now;
    sleep(2);
  }
}

/** What is appended to another name's file, or to a FIFO, would end up elsewhere. */
function assertOurs(fd: number, path: string): Stats {
  const file = fstatSync(fd);
  if (file.isFile() && file.nlink <= 1) return file;
  throw new MidwatchError("UNSAFE_PATH", `${path} is not a plain file, or the file has another name too.`, {
    hint: "Replace it by a file of its own.",
    data: { path },
  });
}

function mayPass(error: unknown): boolean {
  return ["ENOENT", "EINTR", "EAGAIN", "EBUSY", "EMFILE", "ENFILE"].includes(errno(error) ?? "");
}

function sleep(ms: number): void {
  Atomics.wait(clock, 0, 0, ms);
}

/**
 * For a JSONL file that one process at a time lets grow, the one that holds a lock. What an earlier one left in mid-line when it was
 * killed is cut off first: nobody has read it, because readers take whole lines only. `lines` end with a newline, and are on the disk
 * when it returns.
 */
export function growLines(path: string, lines: Uint8Array): void {
  try {
    using file = openFile(path, GROW, 0o600);
    const { fd } = file;
    const { size } = fstatSync(fd);
    const end = wholeSize(fd, size);
    if (end < size) ftruncateSync(fd, end);
    for (let at = 0; at < lines.length; ) at += writeSync(fd, lines, at, lines.length - at, end + at);
    fdatasyncSync(fd);
    if (size === 0) syncFolder(dirname(path));
  } catch (error) {
    throw diskFault(error, path);
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
