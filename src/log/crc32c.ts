/** CRC-32C (Castagnoli), eight bytes a step by whole words. node:zlib has only the other polynomial. */
import { endianness } from "node:os";

/** Eight tables of 256, one behind the other. */
const TABLES: Int32Array = makeTables();
const WORDS: boolean = endianness() === "LE";

function makeTables(): Int32Array {
  const tables = new Int32Array(8 * 256);
  for (let i = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    tables[i] = crc;
  }
  for (let i = 0; i < 7 * 256; i++) {
    const before = tables[i] as number;
    tables[i + 256] = (before >>> 8) ^ (tables[before & 255] as number);
  }
  return tables;
}

/** Of `bytes` when `before` is 0, else of all that gave `before` and `bytes`. */
export function crc32c(before: number, bytes: Uint8Array): number {
  // To where words are aligned, then two at a time, then what is left.
  const first = Math.min(bytes.length, -bytes.byteOffset & 3);
  const pairs = WORDS ? (bytes.length - first) >>> 3 : 0;
  let crc = byBytes(~before, bytes, 0, first);
  if (pairs > 0) crc = byWords(crc, new Int32Array(bytes.buffer, bytes.byteOffset + first, pairs * 2));
  return ~byBytes(crc, bytes, first + pairs * 8, bytes.length) >>> 0;
}

function byBytes(start: number, bytes: Uint8Array, from: number, to: number): number {
  let crc = start;
  for (let i = from; i < to; i++) crc = (crc >>> 8) ^ (TABLES[(crc ^ (bytes[i] as number)) & 255] as number);
  return crc;
}

function byWords(start: number, words: Int32Array): number {
  let crc = start;
  for (let i = 0; i < words.length; i += 2) {
    const a = (words[i] as number) ^ crc;
    const b = words[i + 1] as number;
    crc =
      (TABLES[b >>> 24] as number) ^
      (TABLES[256 + ((b >>> 16) & 255)] as number) ^
      (TABLES[512 + ((b >>> 8) & 255)] as number) ^
      (TABLES[768 + (b & 255)] as number) ^
      (TABLES[1024 + (a >>> 24)] as number) ^
      (TABLES[1280 + ((a >>> 16) & 255)] as number) ^
      (TABLES[1536 + ((a >>> 8) & 255)] as number) ^
      (TABLES[1792 + (a & 255)] as number);
  }
  return crc;
}
