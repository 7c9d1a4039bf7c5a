/** CRC-32C (Castagnoli), sixteen bytes a step; src/log/crc32c.ts takes eight. */
import { TABLES } from "./layout";

let ready = false;

function makeTables(): void {
  for (let i: u32 = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    store<u32>(TABLES + (i << 2), crc);
  }
  for (let at = TABLES; at < TABLES + (15 << 10); at += 4) {
    const before = load<u32>(at);
    store<u32>(at, (before >>> 8) ^ load<u32>(TABLES + ((before & 255) << 2)), 1 << 10);
  }
  ready = true;
}

export function crc32c(before: u32, from: i32, to: i32): u32 {
  if (!ready) makeTables();
  let crc = ~before;
  let at = from;
  for (; to - at >= 16; at += 16) {
    const a = load<u32>(at) ^ crc;
    // The four that wait for the step before come last: the others are looked up meanwhile.
    const free =
      load<u32>((<u32>load<u8>(at, 4)) << 2, TABLES + (11 << 10)) ^
      load<u32>((<u32>load<u8>(at, 5)) << 2, TABLES + (10 << 10)) ^
      load<u32>((<u32>load<u8>(at, 6)) << 2, TABLES + (9 << 10)) ^
      load<u32>((<u32>load<u8>(at, 7)) << 2, TABLES + (8 << 10)) ^
      load<u32>((<u32>load<u8>(at, 8)) << 2, TABLES + (7 << 10)) ^
      load<u32>((<u32>load<u8>(at, 9)) << 2, TABLES + (6 << 10)) ^
      load<u32>((<u32>load<u8>(at, 10)) << 2, TABLES + (5 << 10)) ^
      load<u32>((<u32>load<u8>(at, 11)) << 2, TABLES + (4 << 10)) ^
      load<u32>((<u32>load<u8>(at, 12)) << 2, TABLES + (3 << 10)) ^
      load<u32>((<u32>load<u8>(at, 13)) << 2, TABLES + (2 << 10)) ^
      load<u32>((<u32>load<u8>(at, 14)) << 2, TABLES + (1 << 10)) ^
      load<u32>((<u32>load<u8>(at, 15)) << 2, TABLES + (0 << 10));
    crc =
      free ^
      (load<u32>((a << 2) & 0x3fc, TABLES + (15 << 10)) ^ load<u32>((a >>> 6) & 0x3fc, TABLES + (14 << 10))) ^
      (load<u32>((a >>> 14) & 0x3fc, TABLES + (13 << 10)) ^ load<u32>((a >>> 22) & 0x3fc, TABLES + (12 << 10)));
  }
  for (; at < to; at++) crc = (crc >>> 8) ^ load<u32>(((crc ^ load<u8>(at)) & 255) << 2, TABLES);
  return ~crc;
}
