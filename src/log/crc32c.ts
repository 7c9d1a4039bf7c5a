/** CRC-32C (Castagnoli), eight bytes a step. node:zlib has only the other polynomial. */
const TABLES: readonly Int32Array[] = makeTables();

function makeTables(): Int32Array[] {
  const tables = Array.from({ length: 8 }, () => new Int32Array(256));
  const [first] = tables as [Int32Array];
  for (let i = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    first[i] = crc;
  }
  for (let t = 1; t < 8; t++) {
    const [table, before] = [tables[t], tables[t - 1]] as [Int32Array, Int32Array];
    for (let i = 0; i < 256; i++)
      table[i] = ((before[i] as number) >>> 8) ^ (first[(before[i] as number) & 255] as number);
  }
  return tables;
}

export function crc32c(before: number, bytes: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  let crc = ~before;
  let i = 0;
  // biome-ignore format: one step of the loop
  for (const end = bytes.length - 7; i < end; i += 8) {
    crc =
      (t7[(crc ^ (bytes[i] as number)) & 255] as number) ^
      (t6[((crc >>> 8) ^ (bytes[i + 1] as number)) & 255] as number) ^
      (t5[((crc >>> 16) ^ (bytes[i + 2] as number)) & 255] as number) ^
      (t4[(crc >>> 24) ^ (bytes[i + 3] as number)] as number) ^
      (t3[bytes[i + 4] as number] as number) ^
      (t2[bytes[i + 5] as number] as number) ^
      (t1[bytes[i + 6] as number] as number) ^
      (t0[bytes[i + 7] as number] as number);
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ (t0[(crc ^ (bytes[i] as number)) & 255] as number);
  return ~crc >>> 0;
}
