/**
 * Reading an archive: independent zstd frames of about 1 MiB with the seek table of the zstd seekable format at the end, so
 * any byte costs one frame. `zstd -d` reads the same file. Frames are decoded one by one: Node's one-shot call returns only
 * the first of several.
 */
import { zstdDecompressSync } from "node:zlib";
import { MidwatchError } from "../core/errors.ts";
import { FRAME_BYTES_MAX } from "../disk/archive.ts";
import { FileSource, type Source } from "./source.ts";

export interface Frame {
  /** In the archive. */
  at: number;
  packed: number;
  /** In the log. */
  offset: number;
  bytes: number;
}

const SEEKABLE_MAGIC = 0x8f92eab1;
const FOOTER_BYTES = 9;
const CACHED = 2;
/** Only a line that is longer gives a longer frame. */
const LARGE = 4 << 20;

export class ArchiveSource implements Source {
  readonly #file: FileSource;
  readonly #frames: readonly Frame[];
  readonly #cache = new Map<number, Buffer>();

  private constructor(file: FileSource, frames: readonly Frame[]) {
    this.#file = file;
    this.#frames = frames;
  }

  static open(path: string): ArchiveSource | undefined {
    const file = FileSource.open(path);
    if (file === undefined) return undefined;
    try {
      return new ArchiveSource(file, readSeekTable(file, path));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get frames(): readonly Frame[] {
    return this.#frames;
  }

  size(): number {
    const last = this.#frames.at(-1);
    return last === undefined ? 0 : last.offset + last.bytes;
  }

  read(target: Uint8Array, offset: number): number {
    let n = 0;
    while (n < target.length) {
      const at = offset + n;
      const i = this.#frameAt(at);
      const frame = this.#frames[i];
      if (frame === undefined) break;
      const from = at - frame.offset;
      const part = this.frame(i).subarray(from, from + target.length - n);
      target.set(part, n);
      n += part.length;
    }
    return n;
  }

  /** The bytes of one frame; throws CORRUPT_ARCHIVE when they are not what was written. */
  frame(i: number): Buffer {
    const cached = this.#cache.get(i);
    if (cached !== undefined) return cached;
    const frame = this.#frames[i] as Frame;
    if (frame.bytes > LARGE) this.#cache.clear(); // One such at a time: a table may say that all are.
    const packed = Buffer.allocUnsafe(frame.packed);
    let bytes: Buffer | undefined;
    try {
      // Not a byte more than the table says: a few damaged ones can ask for gigabytes.
      const most = { maxOutputLength: Math.max(1, frame.bytes) };
      if (this.#file.read(packed, frame.at) === frame.packed) bytes = zstdDecompressSync(packed, most);
    } catch (error) {
      throw corrupt(`frame ${i} cannot be decoded`, error);
    }
    if (bytes?.length !== frame.bytes) throw corrupt(`frame ${i} has another length than its entry`);
    if (this.#cache.size >= CACHED) this.#cache.delete(this.#cache.keys().next().value as number);
    this.#cache.set(i, bytes);
    return bytes;
  }

  #frameAt(offset: number): number {
    let low = 0;
    let high = this.#frames.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const frame = this.#frames[middle] as Frame;
      if (frame.offset + frame.bytes <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  close(): void {
    this.#file.close();
  }
}

function readSeekTable(file: FileSource, path: string): Frame[] {
  const size = file.size();
  const footer = Buffer.alloc(FOOTER_BYTES);
  if (
    size < FOOTER_BYTES ||
    file.read(footer, size - FOOTER_BYTES) < FOOTER_BYTES ||
    footer.readUInt32LE(5) !== SEEKABLE_MAGIC
  ) {
    throw corrupt(`${path} has no seek table`);
  }
  const count = footer.readUInt32LE(0);
  const entryBytes = (footer.readUInt8(4) & 0x80) === 0 ? 8 : 12;
  const tableBytes = count * entryBytes;
  const tableAt = size - FOOTER_BYTES - tableBytes;
  if (tableAt < 8) throw corrupt(`${path} has a cut seek table`);
  const table = Buffer.alloc(tableBytes);
  if (file.read(table, tableAt) < tableBytes) throw corrupt(`${path} has a cut seek table`);
  const frames: Frame[] = [];
  let at = 0;
  let offset = 0;
  for (let i = 0; i < count; i++) {
    const packed = table.readUInt32LE(i * entryBytes);
    const bytes = table.readUInt32LE(i * entryBytes + 4);
    if (bytes > FRAME_BYTES_MAX) throw corrupt(`${path} has a seek table with a frame of ${bytes} bytes`);
    frames.push({ at, packed, offset, bytes });
    at += packed;
    offset += bytes;
  }
  if (at !== tableAt - 8) throw corrupt(`${path} has a seek table that does not fit its frames`);
  return frames;
}

function corrupt(message: string, cause?: unknown): MidwatchError {
  return new MidwatchError("CORRUPT_ARCHIVE", `The archive is damaged: ${message}.`, {
    hint: "`midwatch verify ID` says how far; `zstd -d` may save more of it.",
    cause,
  });
}
