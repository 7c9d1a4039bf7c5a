/** Lines that are JSON, or nearly: the kernel must take exactly those that JSON.parse takes after a strict decoding. */
import type { Scanner } from "../../../src/log/scanner.ts";
import { pick, random } from "./random.ts";

type Next = () => number;

/** The definition. A decoder of its own for each line, so that nothing is left over from the one before. */
export function isJson(line: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    return true;
  } catch {
    return false;
  }
}

const SPACES = ["", "", "", "", " ", "\t", "\r", "\n", "  \t "];
const WORDS = ["true", "false", "null", "{}", "[]", '""', "0", "-0"];
const CHARACTERS = [
  ..."abz09 /+-.,:{}[]'",
  ...["\x7f", "ä", "ß", "\u00a0", "߿", "ࠀ", "日本語", "\u2028", "\ud7ff", "\ue000", "\ufeff", "\uffff"],
  ...[
    "𐀀",
    "🎉",
    "\u{10ffff}",
    '\\"',
    "\\\\",
    "\\/",
    "\\b",
    "\\f",
    "\\n",
    "\\r",
    "\\t",
    "\\u0000",
    "\\ud83c\\udf89",
    "\\uD800",
  ],
];
const BYTES = Buffer.from(
  '"\\{}[]:,tfn0123456789eE+-. \t\r\n\0\x1f\x7fu/a\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xff\xbb',
  "latin1",
);

function string(next: Next): string {
  let text = "";
  const length = next() < 0.1 ? next() * 60 : next() * 12;
  for (let i = 0; i < length; i++) text += pick(next, CHARACTERS);
  return `"${text}"`;
}

function number(next: Next): string {
  const digits = (): string => String(Math.floor(next() * 10 ** Math.floor(1 + next() * 15)));
  const fraction = next() < 0.4 ? `.${digits()}` : "";
  const exponent = next() < 0.3 ? `${pick(next, ["e", "E"])}${pick(next, ["", "+", "-"])}${digits()}` : "";
  return `${next() < 0.3 ? "-" : ""}${digits()}${fraction}${exponent}`;
}

function value(next: Next, depth: number): string {
  const space = (): string => pick(next, SPACES);
  const kind = next() * (depth > 0 ? 6 : 3);
  if (kind < 1) return string(next);
  if (kind < 2) return number(next);
  if (kind < 3) return pick(next, WORDS);
  const items = Array.from({ length: Math.floor(next() * 5) }, () => {
    const item = `${space()}${value(next, depth - 1)}${space()}`;
    return kind < 4.5 ? item : `${space()}${string(next)}${space()}:${item}`;
  });
  return kind < 4.5 ? `[${items.join(",")}]` : `{${items.join(",")}}`;
}

function mutate(next: Next, line: Buffer): Buffer {
  const at = Math.floor(next() * (line.length + 1));
  const size = Math.floor(next() * 4);
  const rest = line.subarray(at + (next() < 0.5 ? 0 : 1));
  const kind = next();
  if (kind < 0.55) return Buffer.concat([line.subarray(0, at), Buffer.of(pick(next, [...BYTES])), rest]);
  if (kind < 0.7) return Buffer.concat([line.subarray(0, at), line.subarray(at + size)]);
  if (kind < 0.8) return line.subarray(0, at);
  if (kind < 0.9) return Buffer.concat([line.subarray(0, at), line.subarray(at, at + size), line.subarray(at)]);
  if (kind < 0.95) return Buffer.concat([Buffer.from("\ufeff"), line]);
  return Buffer.concat([line, line.subarray(at)]);
}

export interface Fuzzed {
  valid: number;
  /** In base64. */
  differences: string[];
}

/** `count` lines, each mutated up to three times, at any alignment and with rubbish behind it. */
export function fuzzJson(scanner: Scanner, count: number, seed: number): Fuzzed {
  const next = random(seed);
  const found: Fuzzed = { valid: 0, differences: [] };
  let line: Buffer = Buffer.alloc(0);
  for (let i = 0; i < count; i++) {
    // Several children of one parent: making it costs more than changing it.
    const parent: Buffer =
      i % 8 === 0 ? Buffer.from(`${pick(next, SPACES)}${value(next, 4)}${pick(next, SPACES)}`) : line;
    line = parent;
    let child = parent;
    for (let left = Math.floor(next() * 4); left > 0; left--) child = mutate(next, child);
    const from = Math.floor(next() * 80);
    const with20 = Buffer.concat([child, Buffer.alloc(20, pick(next, [...BYTES]))]);
    scanner.bytes.set(with20, from);
    const expected = isJson(child);
    if (expected) found.valid++;
    const same = scanner.isJson(from, from + child.length) === expected;
    const untouched = scanner.bytes.subarray(from, from + with20.length).equals(with20);
    if (!same || !untouched) found.differences.push(child.toString("base64"));
  }
  return found;
}
