/**
 * Is a line JSON in UTF-8? Exactly what JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line)) accepts: one BOM in
 * front, white space around, lone surrogates as \u escapes, but not deeper than NESTING_MAX, which nobody could walk.
 *
 * A NUL behind the last byte stands for the end: JSON allows it nowhere, so every loop stops there by itself.
 */
import { NESTING, NESTING_MAX } from "./layout";

const VALID: i32 = -1;

const TAB: u8 = 0x09;
const LINE_FEED: u8 = 0x0a;
const RETURN: u8 = 0x0d;
const SPACE: u8 = 0x20;
const QUOTE: u8 = 0x22;
const PLUS: u8 = 0x2b;
const COMMA: u8 = 0x2c;
const MINUS: u8 = 0x2d;
const POINT: u8 = 0x2e;
const ZERO: u8 = 0x30;
const COLON: u8 = 0x3a;
const ARRAY: u8 = 0x5b;
const BACKSLASH: u8 = 0x5c;
const LETTER_U: u8 = 0x75;
const OBJECT: u8 = 0x7b;
const OBJECT_END: u8 = 0x7d;

/** The start of the first line that is neither JSON nor blank, or -1. One that is too deep counts too. */
export function badLine(from: i32, to: i32): i32 {
  for (let at = from; at < to; ) {
    const end = lineEnd(at, to);
    if (validate(at, end) !== VALID && !isBlank(at, end)) return at;
    at = end + 1;
  }
  return -1;
}

function lineEnd(from: i32, to: i32): i32 {
  const wanted = i8x16.splat(LINE_FEED);
  for (let at = from; at < to; at += 16) {
    const bits = i8x16.bitmask(i8x16.eq(v128.load(at), wanted));
    if (bits !== 0) return min(at + ctz(bits), to);
  }
  return to;
}

function isBlank(from: i32, to: i32): bool {
  for (let at = from; at < to; at++) {
    const byte = load<u8>(at);
    if (byte !== RETURN && byte !== SPACE && byte !== TAB) return false;
  }
  return true;
}

/** -1 when it is valid, else the position of the byte that does not fit (`to` when something is missing), or -2. */
export function validate(from: i32, to: i32): i32 {
  const behind = load<u8>(to);
  store<u8>(to, 0);
  const fault = check(from, to);
  store<u8>(to, behind);
  return fault;
}

/** From here on functions return the position behind what they have read, or the complement of the fault's. */
function check(from: i32, to: i32): i32 {
  let at = from;
  if ((load<u32>(at) & 0xffffff) === 0xbfbbef) at += 3;
  let depth = 0;
  let close: u8 = 0;
  while (true) {
    at = skipSpace(at);
    const byte = load<u8>(at);
    if (byte === QUOTE) {
      at = stringEnd(at + 1);
      if (at < 0) return ~at;
    } else if (byte === OBJECT || byte === ARRAY) {
      if (depth === NESTING_MAX) return at;
      const end: u8 = byte + 2;
      at = skipSpace(at + 1);
      if (load<u8>(at) === end) {
        at++;
      } else {
        store<u8>(NESTING + depth++, close);
        close = end;
        if (end === OBJECT_END) {
          at = keyEnd(at);
          if (at < 0) return ~at;
        }
        continue;
      }
    } else {
      at = byte === MINUS || isDigit(byte) ? numberEnd(at) : wordEnd(at);
      if (at < 0) return ~at;
    }
    // Behind a value: close what ends here, up to the comma before the next one.
    while (true) {
      at = skipSpace(at);
      if (depth === 0) return at === to ? VALID : at;
      const next = load<u8>(at);
      if (next === COMMA) {
        at++;
        if (close === OBJECT_END) {
          at = keyEnd(at);
          if (at < 0) return ~at;
        }
        break;
      }
      if (next !== close) return at;
      close = load<u8>(NESTING + --depth);
      at++;
    }
  }
}

function skipSpace(from: i32): i32 {
  let at = from;
  while (true) {
    const byte = load<u8>(at);
    if (byte > SPACE || (byte !== SPACE && byte !== LINE_FEED && byte !== RETURN && byte !== TAB)) return at;
    at++;
  }
}

/** A key with its colon. */
function keyEnd(from: i32): i32 {
  let at = skipSpace(from);
  if (load<u8>(at) !== QUOTE) return ~at;
  at = stringEnd(at + 1);
  if (at < 0) return at;
  at = skipSpace(at);
  return load<u8>(at) === COLON ? at + 1 : ~at;
}

/** From behind the opening quote. */
function stringEnd(from: i32): i32 {
  const space = i8x16.splat(SPACE);
  const quote = i8x16.splat(QUOTE);
  const backslash = i8x16.splat(BACKSLASH);
  let at = from;
  while (true) {
    const bytes = v128.load(at);
    // As signed numbers control characters and all that is not ASCII lie below the space.
    const special = i8x16.bitmask(
      v128.or(i8x16.lt_s(bytes, space), v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash))),
    );
    if (special === 0) {
      at += 16;
      continue;
    }
    at += ctz(special);
    const byte = load<u8>(at);
    if (byte === QUOTE) return at + 1;
    if (byte < SPACE) return ~at;
    at = byte === BACKSLASH ? escapeEnd(at + 1) : utf8End(at);
    if (at < 0) return at;
  }
}

/** From behind the backslash. The bits are those of " / and of \\ b f n r t less 64. */
function escapeEnd(at: i32): i32 {
  const byte = load<u8>(at);
  const simple: u64 = byte < 64 ? 0x800400000000 : byte < 128 ? 0x14404410000000 : 0;
  if ((simple >> (byte & 63)) & 1) return at + 1;
  if (byte !== LETTER_U) return ~at;
  for (let i = 1; i <= 4; i++) if (!isHex(load<u8>(at + i))) return ~(at + i);
  return at + 5;
}

/** All characters in a row that are not ASCII: other scripts than Latin come in words. */
function utf8End(from: i32): i32 {
  let at = from;
  while (true) {
    const four = load<u32>(at);
    const byte = four & 0xff;
    if (byte < 0x80) return at;
    if (byte < 0xc2) return ~at;
    if (byte < 0xe0) {
      if ((four & 0xc000) !== 0x8000) return ~at;
      at += 2;
    } else if (byte < 0xf0) {
      const high = four & 0x200f; // 0: longer than needed; 0x200d: a surrogate
      if ((four & 0xc0c000) !== 0x808000 || high === 0 || high === 0x200d) return ~at;
      at += 3;
    } else {
      const high = four & 0x3007; // 0: longer than needed; above 4 as one number: above U+10FFFF
      if (byte > 0xf4 || (four & 0xc0c0c000) !== 0x80808000 || high === 0 || (byte === 0xf4 && high !== 4)) return ~at;
      at += 4;
    }
  }
}

function numberEnd(from: i32): i32 {
  let at = from;
  if (load<u8>(at) === MINUS) at++;
  if (load<u8>(at) === ZERO) {
    at++;
  } else {
    at = digitsEnd(at);
    if (at < 0) return at;
  }
  if (load<u8>(at) === POINT) {
    at = digitsEnd(at + 1);
    if (at < 0) return at;
  }
  if ((load<u8>(at) | 0x20) !== 0x65) return at;
  at++;
  const sign = load<u8>(at);
  return digitsEnd(sign === PLUS || sign === MINUS ? at + 1 : at);
}

/** At least one. */
function digitsEnd(from: i32): i32 {
  let at = from;
  while (isDigit(load<u8>(at))) at++;
  return at === from ? ~at : at;
}

/** true, false or null. */
function wordEnd(at: i32): i32 {
  const four = load<u32>(at);
  if (four === 0x65757274 || four === 0x6c6c756e) return at + 4;
  return four === 0x736c6166 && load<u8>(at, 4) === 0x65 ? at + 5 : ~at;
}

function isDigit(byte: u8): bool {
  return <u8>(byte - ZERO) < 10;
}

function isHex(byte: u8): bool {
  return isDigit(byte) || <u8>((byte | 0x20) - 0x61) < 6;
}
