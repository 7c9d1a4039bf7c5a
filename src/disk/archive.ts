/** Writing an archive: whole lines in independent zstd frames of about 1 MiB, then the seek table; fsynced under a temporary name. */
import { constants as fs, fstatSync, fsyncSync, futimesSync, readSync } from "node:fs";
import { zstdCompressSync } from "node:zlib";
import type { Steps } from "../core/progress.ts";
import { diskFault, errno, unsafe } from "./fault.ts";
import { type OpenFile, openFile, writeAll } from "./replace.ts";

const FRAME = 1 << 20;
/** Packing them takes about 30 ms. */
const STEP_FRAMES = 8;
/** A line longer than this is cut into frames of its own: the table holds 32-bit sizes. */
const FRAME_MAX = 64 << 20;
/** What a frame can come to: the rest of a buffer of FRAME_MAX begins one of twice the size. */
export const FRAME_BYTES_MAX: number = 2 * FRAME_MAX;
const SKIPPABLE_MAGIC = 0x184d2a5e;
const SEEKABLE_MAGIC = 0x8f92eab1;
const NEWLINE = 10;
/** Compression level 3, with checksums; by zstd's own numbers, so that node:zlib is loaded when something is packed. */
const OPTIONS = { params: { 100: 3, 201: 1 } };

export interface Packed {
  bytes: number;
  packed: number;
  frames: number;
}

/** Packs the file at `from` into a new file at `to`. `each` sees every frame's bytes before they are packed. */
export function* packFile(from: string, to: string, each: (bytes: Buffer) => void): Steps<Packed> {
  using input = openPlain(from);
  try {
    using output = openNew(to);
    const sizes: [packed: number, bytes: number][] = [];
    let at = 0;
    for (const bytes of frames(input.fd)) {
      each(bytes);
      const packed = zstdCompressSync(bytes, OPTIONS);
      writeAll(output.fd, packed);
      sizes.push([packed.length, bytes.length]);
      at += bytes.length;
      if (sizes.length % STEP_FRAMES === 0) yield at;
    }
    writeAll(output.fd, seekTable(sizes));
    fsyncSync(output.fd);
    const { atimeMs, mtimeMs } = fstatSync(input.fd);
    futimesSync(output.fd, atimeMs / 1000, mtimeMs / 1000); // When the agent last printed stays known.
    const sum = (i: 0 | 1): number => sizes.reduce((total, pair) => total + pair[i], 0);
    return { bytes: sum(1), packed: sum(0), frames: sizes.length };
  } catch (error) {
    throw diskFault(error, to);
  }
}

/** No link, and nothing that could be read for ever. */
function openPlain(path: string): OpenFile {
  let file: OpenFile;
  try {
    file = openFile(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
    if (fstatSync(file.fd).isFile()) return file;
  } catch (error) {
    throw diskFault(error, path);
  }
  file[Symbol.dispose]();
  throw unsafe(path, "is not a plain file");
}

function openNew(path: string): OpenFile {
  try {
    return openFile(path, fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW, 0o600);
  } catch (error) {
    throw errno(error) === "EEXIST" ? unsafe(path, "is made again by somebody while it is written") : error;
  }
}

/** Writes the frames of an archive to a new file, synced. */
export function* unpackFrames(
  to: string,
  count: number,
  frame: (i: number) => Buffer,
  each: (bytes: Buffer) => void,
  mtimeMs: number | undefined,
): Steps<void> {
  try {
    using output = openNew(to);
    for (let i = 0, at = 0; i < count; i++) {
      const bytes = frame(i);
      each(bytes);
      writeAll(output.fd, bytes);
      at += bytes.length;
      if ((i + 1) % STEP_FRAMES === 0) yield at;
    }
    if (mtimeMs !== undefined) futimesSync(output.fd, mtimeMs / 1000, mtimeMs / 1000);
    fsyncSync(output.fd);
  } catch (error) {
    throw diskFault(error, to);
  }
}

/** Pieces of about 1 MiB that end at a newline; of a longer line as much as fits. */
function* frames(input: number): Generator<Buffer> {
  let buffer = Buffer.allocUnsafe(FRAME);
  let filled = 0;
  let at = 0;
  for (;;) {
    const n = readSync(input, buffer, filled, buffer.length - filled, at);
    at += n;
    filled += n;
    if (n > 0 && filled < buffer.length) continue;
    if (filled === 0) return;
    const end = n === 0 ? filled : buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1;
    if (end === 0 && buffer.length < FRAME_MAX) {
      buffer = Buffer.concat([buffer], buffer.length * 2); // A long line: look further for its end.
      continue;
    }
    const cut = end === 0 ? filled : end;
    yield buffer.subarray(0, cut);
    const rest = Buffer.from(buffer.subarray(cut, filled));
    buffer = Buffer.allocUnsafe(Math.max(FRAME, rest.length * 2));
    rest.copy(buffer);
    filled = rest.length;
  }
}

/** The seek table of the zstd seekable format: a skippable frame that other readers pass over. */
function seekTable(sizes: readonly [number, number][]): Buffer {
  const table = Buffer.alloc(8 + sizes.length * 8 + 9);
  table.writeUInt32LE(SKIPPABLE_MAGIC, 0);
  table.writeUInt32LE(table.length - 8, 4);
  for (const [i, [packed, bytes]] of sizes.entries()) {
    table.writeUInt32LE(packed, 8 + i * 8);
    table.writeUInt32LE(bytes, 12 + i * 8);
  }
  table.writeUInt32LE(sizes.length, table.length - 9);
  table.writeUInt8(0, table.length - 5);
  table.writeUInt32LE(SEEKABLE_MAGIC, table.length - 4);
  return table;
}
