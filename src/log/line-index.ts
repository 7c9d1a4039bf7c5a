/**
 * The sparse index of a log (docs/formats.md): from a line, an offset or a time to a nearby line start. It is a help, never the
 * truth: what it says is checked against the bytes, and without it the log is scanned.
 */
import { isNewline } from "./lines.ts";
import { FileSource, type Source } from "./source.ts";

export interface IndexEntry {
  /** Newlines before `offset`. */
  line: number;
  /** Just behind a newline. */
  offset: number;
  /** When the bytes before `offset` were seen; 0 = unknown. */
  timeMs: number;
  /** Of the bytes since the entry before; null in an index made anew, which could only repeat what is there. */
  crc: number | null;
}

export const ENTRY_BYTES = 32;
/** In the last four bytes of an entry; 0 otherwise. */
export const WITHOUT_CRC = 1;
/** No date lies behind it: an entry that says so is damaged, and its time is not known. */
const LAST_MS = 8.64e15;
const START: IndexEntry = { line: 0, offset: 0, timeMs: 0, crc: 0 };

/** An index with more wrong entries in a row is no help. */
const TRIED = 64;

/** Entries read at a time: looking one up touches a few blocks, not the whole file. */
const BLOCK = 128;

export class LineIndex {
  #source: Source | undefined;
  #length: number | undefined;
  /** Where it is opened from when somebody asks. */
  #paths: readonly string[] = [];
  #entries: Buffer | undefined;
  #loaded = -1;

  /** Without a source the index is empty: everything is found by scanning. */
  constructor(source?: Source) {
    this.#source = source;
    this.#length = source === undefined ? 0 : Math.floor(source.size() / ENTRY_BYTES);
  }

  static open(path: string): LineIndex {
    return new LineIndex(FileSource.open(path));
  }

  /** Opened at the first of these paths that is there, when it is needed: most logs that are searched have no hit. */
  static later(paths: readonly string[]): LineIndex {
    const index = new LineIndex();
    index.#paths = paths;
    index.#length = undefined;
    return index;
  }

  get length(): number {
    for (const path of this.#length === undefined ? this.#paths : []) this.#source ??= FileSource.open(path);
    this.#length ??= Math.floor((this.#source?.size() ?? 0) / ENTRY_BYTES);
    return this.#length;
  }

  get #block(): Buffer {
    this.#entries ??= Buffer.alloc(BLOCK * ENTRY_BYTES);
    return this.#entries;
  }

  close(): void {
    this.#source?.close();
  }

  entry(i: number): IndexEntry {
    const block = Math.floor(i / BLOCK);
    if (block !== this.#loaded) {
      this.#source?.read(this.#block, block * BLOCK * ENTRY_BYTES);
      this.#loaded = block;
    }
    const at = (i % BLOCK) * ENTRY_BYTES;
    const timeMs = Number(this.#block.readBigUInt64LE(at + 16));
    return {
      line: Number(this.#block.readBigUInt64LE(at)),
      offset: Number(this.#block.readBigUInt64LE(at + 8)),
      timeMs: timeMs <= LAST_MS ? timeMs : 0,
      crc: this.#block.readUInt32LE(at + 28) === WITHOUT_CRC ? null : this.#block.readUInt32LE(at + 24),
    };
  }

  /** Whether its end fits the bytes. An entry further up may still lie; `verify` checks them all. */
  fits(source: Source): boolean {
    if (this.length === 0) return true;
    const last = this.entry(this.length - 1);
    return last.offset <= source.size() && isLineStart(source, last.offset);
  }

  /** The last entry at or before this line, offset or time that lies inside the log and behind a newline. */
  before(key: "line" | "offset" | "timeMs", value: number, source: Source): IndexEntry {
    const size = source.size();
    const first = this.#lastAtMost(key, value);
    for (let i = first; i >= 0 && first - i < TRIED; i--) {
      const entry = this.entry(i);
      if (entry.offset <= size && this.#isPlausible(i, entry) && isLineStart(source, entry.offset)) return entry;
    }
    return START;
  }

  /** Behind the entry before it, with at least a byte for each line between; whether it counted right only `verify` can tell. */
  #isPlausible(i: number, { line, offset }: IndexEntry): boolean {
    const before = i > 0 ? this.entry(i - 1) : START;
    return line >= before.line && line - before.line <= offset - before.offset;
  }

  /** How many entries have a key of at most `value`, minus one. Unknown times count as early. */
  #lastAtMost(key: "line" | "offset" | "timeMs", value: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.entry(middle)[key] <= value) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The number of the first entry whose offset is at least `offset`. */
  firstFrom(offset: number): number {
    return this.#lastAtMost("offset", offset - 1) + 1;
  }
}

function isLineStart(source: Source, offset: number): boolean {
  return offset === 0 || isNewline(source, offset - 1);
}
