/**
 * How far a log was read, with its first bytes and those before the place: tells one that grew from one that was cut (copy + truncate),
 * also when it has grown past the place since.
 */
import { lineStartFrom } from "./lines.ts";
import { FileSource, type Source } from "./source.ts";

const BYTES = 64;
/** Fewer prove nothing. */
const HEAD_LEAST = 16;

export class ReadMark {
  readonly offset: number;
  readonly #ino: number | undefined;
  readonly #head: Buffer;
  readonly #tail: Buffer;

  /** `offset` is a line's start. */
  constructor(source: Source, offset: number) {
    this.offset = offset;
    this.#ino = inodeOf(source);
    this.#head = bytesAt(source, 0, Math.min(offset, BYTES));
    this.#tail = bytesAt(source, Math.max(0, offset - BYTES), offset);
  }

  /**
   * Where to read on: at the place; at the beginning, or behind what is left, when the log was cut. Undefined while another and shorter
   * file has its name: its keeper puts it back.
   */
  goOn(source: Source, end: number): number | undefined {
    const { offset } = this;
    if (end >= offset && this.#tail.equals(bytesAt(source, Math.max(0, offset - BYTES), offset))) return offset;
    const ino = inodeOf(source);
    if (end < offset && ino !== undefined && ino !== this.#ino) return undefined;
    const head = this.#head.subarray(0, Math.min(this.#head.length, end));
    if (head.length < HEAD_LEAST || !head.equals(bytesAt(source, 0, head.length))) return 0;
    // Cut to a part of what was read. Where it has grown past the place nobody can tell where that ended: rather missed than read twice.
    return end < offset ? end : lineStartFrom(source, offset, end);
  }
}

function inodeOf(source: Source): number | undefined {
  return source instanceof FileSource ? source.opened.ino : undefined;
}

function bytesAt(source: Source, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  return bytes.subarray(0, source.read(bytes, from));
}
