/**
 * Whole files. A fact is either the old one or the new one, also after a power cut: temporary name in the same folder,
 * fsync, rename, fsync of the folder. Synchronous on purpose: facts are small, and a caller must not go on before.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { throwIfExhausted } from "../core/errors.ts";
import { FACT_DEPTH, parseWithin } from "../core/json.ts";
import { faultOf, type Shape } from "../core/shape/shape.ts";
import { attempt, diskFault, errno } from "./fault.ts";

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** More than a text or a JSON file of ours holds, unless its reader says otherwise. */
const READ_MAX = 16 << 20;

/** Replaces a fact durably. */
export function replace(path: string, data: string | Uint8Array): void {
  put(path, data, true, renameSync);
  syncFolder(dirname(path));
}

/** Replaces a view that can be made again: atomic for readers, but not forced to the disk. */
export function replaceFast(path: string, data: string | Uint8Array): void {
  put(path, data, false, renameSync);
}

/** As `replace`; the file that was there stays as `aside`. */
export function replaceKeeping(path: string, data: string | Uint8Array, aside: string): void {
  put(path, data, true, (temporary, target) => {
    keepAside(target, aside);
    renameSync(temporary, target);
  });
  syncFolder(dirname(path));
}

/** One more name for a file that is about to be replaced; in the place of an older one. */
export function keepAside(path: string, aside: string): void {
  const temporary = `${aside}.${randomBytes(6).toString("hex")}.tmp`;
  if (!attempt(["ENOENT"], path, () => linkSync(path, temporary))) return;
  renameSync(temporary, aside);
  remove(temporary); // Renaming does nothing when both are names of the same file already.
}

/**
 * Creates a fact that must not exist yet; false when it does. The file appears with its whole content (link of a
 * finished temporary file), so a crash in between leaves no empty claim behind.
 */
export function createExclusive(path: string, data: string | Uint8Array): boolean {
  const made = attempt(["EEXIST"], path, () =>
    put(path, data, true, (temporary, target) => {
      linkSync(temporary, target);
      unlinkSync(temporary);
    }),
  );
  if (made) syncFolder(dirname(path));
  return made;
}

export type JsonRead<T> = { value: T; reason: undefined } | { value: undefined; reason: string | undefined };

/** How much of a JSON file is taken, and what it has to look like. */
export interface JsonBounds {
  bytes?: number;
  depth?: number;
  shape?: Shape;
}

/** A JSON file of ours, no link: `value`, or undefined when it is missing, or undefined with the `reason` it cannot be used. Throws only for want of descriptors. */
export function readJson<T>(
  path: string,
  { bytes = READ_MAX, depth = FACT_DEPTH, shape }: JsonBounds = {},
): JsonRead<T> {
  let text: string;
  try {
    text = readPlain(path, bytes, constants.O_NOFOLLOW);
  } catch (error) {
    throwIfExhausted(error);
    const missing = errno(error) === "ENOENT" || errno(error) === "ENOTDIR";
    return { value: undefined, reason: missing ? undefined : `${path}: ${messageOf(error)}` };
  }
  try {
    const value = parseWithin(text, depth);
    const fault = shape && faultOf(shape, value);
    if (fault !== undefined) return { value: undefined, reason: `${path}: ${fault}` };
    return { value: value as T, reason: undefined };
  } catch (error) {
    return { value: undefined, reason: `${path}: ${messageOf(error)}` };
  }
}

/** Writes every byte: the kernel may take fewer than it was given (full disk, quota) without reporting an error. */
export function writeAll(fd: number, data: Uint8Array): void {
  let offset = 0;
  while (offset < data.length) offset += writeSync(fd, data, offset, data.length - offset);
}

export interface OpenFile extends Disposable {
  fd: number;
}

/** Closed when the block ends that uses it. */
export function openFile(path: string, flags: number, mode?: number): OpenFile {
  const fd = openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => closeSync(fd) };
}

/** Makes names that were created, renamed or removed in a folder survive a power cut. */
export function syncFolder(path: string): void {
  using folder = openFile(path, constants.O_RDONLY | constants.O_DIRECTORY);
  syncOpen(folder.fd, path);
}

/** As `syncFolder`, for a folder that is open. */
export function syncOpen(fd: number, path: string): void {
  try {
    fsyncSync(fd);
  } catch (error) {
    // Some file systems (FUSE, 9p) cannot sync a folder; there is nothing better to do there.
    if (errno(error) !== "EINVAL" && errno(error) !== "ENOTSUP") throw diskFault(error, path);
  }
}

function put(path: string, data: string | Uint8Array, sync: boolean, place: (from: string, to: string) => void): void {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  let made = false;
  try {
    const fd = openSync(temporary, CREATE, 0o600);
    made = true;
    try {
      writeAll(fd, typeof data === "string" ? Buffer.from(data) : data);
      if (sync) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    place(temporary, path);
  } catch (error) {
    if (made) remove(temporary);
    throw errno(error) === "EEXIST" ? error : diskFault(error, path);
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The first error is the one to report.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A text file of ours in a folder that others can change: a link in its place counts as missing. */
export function readOwn(path: string): string | undefined {
  try {
    return readFileSync(path, {
      encoding: "utf8",
      flag: constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    });
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ELOOP") return undefined;
    throw diskFault(error, path);
  }
}

/** A small text file, or undefined when it cannot be read. */
export function readText(path: string): string | undefined {
  try {
    return readPlain(path, READ_MAX);
  } catch (error) {
    throwIfExhausted(error);
    return undefined;
  }
}

/** Nearly every fact fits: one read, and nothing to allocate. */
const small = Buffer.alloc(16 << 10);

/** A FIFO or a device in the place of a file must not keep a reader waiting, nor fill its memory. */
function readPlain(path: string, most: number, flags = 0): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    const file = fstatSync(fd);
    if (!file.isFile()) throw new Error("not a plain file");
    if (file.size > most) throw new Error(`larger than ${most} bytes`);
    const read = file.size < small.length ? readSync(fd, small, { position: 0 }) : small.length;
    return read < small.length ? small.toString("utf8", 0, read) : readFileSync(fd, "utf8");
  } finally {
    closeSync(fd);
  }
}
