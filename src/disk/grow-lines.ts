/**
 * A JSONL file that one process at a time lets grow, the one that holds a lock. What an earlier one left in mid-line when it was
 * killed is cut off first: nobody has read it, because readers take whole lines only.
 */
import { constants, fdatasyncSync, fstatSync, ftruncateSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { diskFault } from "./fault.ts";
import { openFile, syncFolder } from "./replace.ts";

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const BACK = 64 << 10;
const NEWLINE = 10;

/** `lines` end with a newline, and are on the disk when it returns. */
export function growLines(path: string, lines: Uint8Array): void {
  try {
    using file = openFile(path, OPEN, 0o600);
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
