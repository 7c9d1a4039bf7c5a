/** What a printing agent prints: decided by its seed, so that a test can make the same bytes again. */
import { crc32 } from "node:zlib";
import { random } from "../data/random.ts";

/** Numbered lines, each with the checksum of its text; short, empty, long and not UTF-8, without a newline at the end. */
export function output(seed: number, bytes: number): Buffer {
  const next = random(seed);
  const parts: Buffer[] = [];
  let size = 0;
  for (let n = 1; size < bytes; n++) {
    const kind = next();
    const length = kind < 0.05 ? 0 : kind < 0.97 ? Math.floor(next() * 120) : Math.floor(next() * 9000);
    const body = Buffer.alloc(length, kind > 0.9 ? Buffer.from([0xff, 0x61, 0xc3]) : `${seed}-${n}-`);
    const line = kind < 0.02 ? Buffer.from("\n") : Buffer.concat([Buffer.from(`${n} `), body, check(body)]);
    parts.push(line);
    size += line.length;
  }
  return Buffer.concat(parts).subarray(0, bytes);
}

function check(body: Buffer): Buffer {
  return Buffer.from(` ${crc32(body).toString(16)}\n`);
}

/** The sizes of its writes: they cut lines anywhere. */
export function* writes(seed: number, bytes: number): Generator<number> {
  const next = random(seed + 1);
  for (let left = bytes; left > 0; ) {
    const size = Math.min(left, 1 + Math.floor(next() ** 3 * 20_000));
    yield size;
    left -= size;
  }
}
