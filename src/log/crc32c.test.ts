import { expect, it } from "vitest";
import { random } from "../../test/support/data/random.ts";
import { crc32c } from "./crc32c.ts";

/** Bit by bit, from the definition. */
function slow(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

it("gives the CRC-32C of any bytes at any address, whole and in parts", () => {
  const next = random(1);
  const bytes = Uint8Array.from({ length: 300 }, () => next() * 256);
  expect(crc32c(0, Buffer.from("123456789"))).toBe(0xe3069283);
  for (let from = 0; from < 20; from++) {
    for (let to = from; to <= bytes.length; to += 1 + Math.floor(next() * 5)) {
      const part = bytes.subarray(from, to);
      const middle = Math.floor(next() * part.length);
      expect(crc32c(0, part)).toBe(slow(part));
      expect(crc32c(crc32c(0, part.subarray(0, middle)), part.subarray(middle))).toBe(slow(part));
    }
  }
});
