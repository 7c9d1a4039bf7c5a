/**
 * The loops of src/log/scanner.ts that touch every byte, in AssemblyScript with SIMD. Positions are addresses in the memory, a
 * range is [from, to). The plain scanner does the same in TypeScript; the same tests run on both.
 */
import { NEEDLE } from "./layout";

export { crc32c } from "./crc32c";
export { badLine, validate } from "./json";
export { BYTES, NEEDLE, NEEDLE_MAX, SLACK } from "./layout";

const LINE_FEED: i8 = 10;

/** Sixteen counters of newlines, one for each column of the BLOCK bytes at `at`: adding up masks costs less than counting bits. */
const BLOCK = 4096;

function countBlock(at: i32): i32 {
  const wanted = i8x16.splat(LINE_FEED);
  let a = i8x16.splat(0);
  let b = i8x16.splat(0);
  let c = i8x16.splat(0);
  let d = i8x16.splat(0);
  for (const end = at + BLOCK; at < end; at += 64) {
    a = i8x16.sub(a, i8x16.eq(v128.load(at), wanted));
    b = i8x16.sub(b, i8x16.eq(v128.load(at, 16), wanted));
    c = i8x16.sub(c, i8x16.eq(v128.load(at, 32), wanted));
    d = i8x16.sub(d, i8x16.eq(v128.load(at, 48), wanted));
  }
  const sums = i16x8.add(
    i16x8.add(i16x8.extadd_pairwise_i8x16_u(a), i16x8.extadd_pairwise_i8x16_u(b)),
    i16x8.add(i16x8.extadd_pairwise_i8x16_u(c), i16x8.extadd_pairwise_i8x16_u(d)),
  );
  const four = i32x4.extadd_pairwise_i16x8_u(sums);
  return (
    i32x4.extract_lane(four, 0) +
    i32x4.extract_lane(four, 1) +
    i32x4.extract_lane(four, 2) +
    i32x4.extract_lane(four, 3)
  );
}

/** A bit for each newline among the 64 bytes at `at`, of which only those before `to` count. */
function newlines(at: i32, to: i32): u64 {
  const wanted = i8x16.splat(LINE_FEED);
  const bits =
    u64(i8x16.bitmask(i8x16.eq(v128.load(at), wanted))) |
    (u64(i8x16.bitmask(i8x16.eq(v128.load(at, 16), wanted))) << 16) |
    (u64(i8x16.bitmask(i8x16.eq(v128.load(at, 32), wanted))) << 32) |
    (u64(i8x16.bitmask(i8x16.eq(v128.load(at, 48), wanted))) << 48);
  return to - at >= 64 ? bits : bits & ((u64(1) << (to - at)) - 1);
}

export function countNewlines(from: i32, to: i32): i32 {
  let count = 0;
  let at = from;
  for (; to - at >= BLOCK; at += BLOCK) count += countBlock(at);
  for (; at < to; at += 64) count += i32(popcnt(newlines(at, to)));
  return count;
}

/** The position just behind the n-th newline; when there are only k: -1 - k. */
export function skipLines(from: i32, to: i32, n: i32): i32 {
  let left = n;
  let at = from;
  for (; to - at >= BLOCK; at += BLOCK) {
    const count = countBlock(at);
    if (count >= left) break;
    left -= count;
  }
  for (; at < to; at += 64) {
    let bits = newlines(at, to);
    const count = i32(popcnt(bits));
    if (count < left) {
      left -= count;
      continue;
    }
    while (--left > 0) bits &= bits - 1;
    return at + i32(ctz(bits)) + 1;
  }
  return left - n - 1;
}

/**
 * The first position of the `length` bytes at NEEDLE, or -1. Only where the bytes `a` and `b` of the needle are both in their
 * place is the rest compared; the caller knows which two are rare.
 */
export function find(from: i32, to: i32, length: i32, a: i32, b: i32): i32 {
  const last = to - length;
  const first = i8x16.splat(load<i8>(NEEDLE + a));
  const second = i8x16.splat(load<i8>(NEEDLE + b));
  for (let at = from; at <= last; at += 64) {
    const m0 = v128.and(i8x16.eq(v128.load(at + a), first), i8x16.eq(v128.load(at + b), second));
    const m1 = v128.and(i8x16.eq(v128.load(at + a, 16), first), i8x16.eq(v128.load(at + b, 16), second));
    const m2 = v128.and(i8x16.eq(v128.load(at + a, 32), first), i8x16.eq(v128.load(at + b, 32), second));
    const m3 = v128.and(i8x16.eq(v128.load(at + a, 48), first), i8x16.eq(v128.load(at + b, 48), second));
    if (!v128.any_true(v128.or(v128.or(m0, m1), v128.or(m2, m3)))) continue;
    let bits =
      u64(i8x16.bitmask(m0)) |
      (u64(i8x16.bitmask(m1)) << 16) |
      (u64(i8x16.bitmask(m2)) << 32) |
      (u64(i8x16.bitmask(m3)) << 48);
    for (; bits !== 0; bits &= bits - 1) {
      const place = at + i32(ctz(bits));
      if (place > last) return -1;
      if (isNeedle(place, length)) return place;
    }
  }
  return -1;
}

function isNeedle(at: i32, length: i32): bool {
  let i = 0;
  for (; i + 8 <= length; i += 8) if (load<u64>(at + i) !== load<u64>(NEEDLE + i)) return false;
  for (; i < length; i++) if (load<u8>(at + i) !== load<u8>(NEEDLE + i)) return false;
  return true;
}
