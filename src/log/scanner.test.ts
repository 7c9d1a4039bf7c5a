import { describe, expect, it } from "vitest";
import { isJson } from "../../test/support/data/json-fuzz.ts";
import { pick, random } from "../../test/support/data/random.ts";
import { crc32c } from "./crc32c.ts";
import { giveBack, KernelScanner, makeScanner, PlainScanner, type Scanner, withScanner } from "./scanner.ts";

const PAGE = 65_536;

function kernel(capacity: number): Scanner {
  const made = KernelScanner.make(capacity);
  if (made === undefined) throw new Error("dist/kernel.wasm is missing or cannot run here: npm run build");
  return made;
}

const scanners: [string, (capacity: number) => Scanner][] = [
  ["plain", (capacity) => new PlainScanner(capacity)],
  ["kernel", kernel],
];

function newlinesIn(bytes: Uint8Array): number[] {
  return [...bytes].flatMap((byte, i) => (byte === 10 ? [i] : []));
}

/** Ranges of every length to 150 at every alignment, and ranges that end with the memory. */
function* ranges(capacity: number): Generator<[number, number]> {
  for (let from = 0; from < 66; from++)
    for (let to = from; to < from + 150; to += from % 7 === 0 ? 1 : 13) yield [from, to];
  for (let from = capacity - 200; from <= capacity; from++) yield [from, capacity];
}

describe.each(scanners)("%s scanner", (_name, make) => {
  it("counts and skips newlines, and never those outside the range", () => {
    const scanner = make(PAGE);
    const next = random(1);
    for (const often of [0, 0.02, 0.3, 1]) {
      for (let i = 0; i < PAGE; i++) scanner.bytes[i] = next() < often ? 10 : pick(next, [9, 11, 0, 138, 65]);
      for (const [from, to] of ranges(PAGE)) {
        const places = newlinesIn(scanner.bytes.subarray(from, to));
        if (scanner.countNewlines(from, to) !== places.length) expect([from, to]).toBe("counted right");
        for (const n of [1, 2, Math.ceil(places.length / 2), places.length, places.length + 1]) {
          const place = n === 0 ? -1 : places[n - 1]; // Behind the 0th: where it began.
          const expected = place === undefined ? -1 - places.length : from + place + 1;
          if (scanner.skipLines(from, to, n) !== expected) expect([from, to, n]).toBe("skipped right");
        }
      }
    }
    scanner.bytes.fill(10);
    expect(scanner.countNewlines(0, PAGE)).toBe(PAGE);
    expect(scanner.skipLines(1, PAGE, PAGE - 1)).toBe(PAGE);
    expect(scanner.skipLines(1, PAGE, PAGE)).toBe(-PAGE);
    expect(scanner.skipLines(7, 100, 0)).toBe(7);
  });

  it("finds needles of any length at any place, and none that is cut by the range", () => {
    const scanner = make(PAGE);
    const next = random(2);
    const letter = (): number => pick(next, [97, 98, 98, 98, 10, 255]);
    for (let i = 0; i < PAGE; i++) scanner.bytes[i] = letter();
    for (let i = 0; i < 20_000; i++) {
      const from = next() < 0.5 ? Math.floor(next() * 100) : PAGE - Math.floor(next() * 300);
      const to = Math.min(PAGE, from + Math.floor(next() * 300));
      const length = Math.floor(next() * (next() < 0.8 ? 8 : 100));
      // A part of the bytes that begins in the range and may end behind it, or bytes that are hardly there.
      const at = Math.min(from + Math.floor(next() * (to - from + 1)), PAGE - length);
      const needle =
        next() < 0.7
          ? Buffer.from(scanner.bytes.subarray(at, at + length))
          : Buffer.from(Uint8Array.from({ length }, letter));
      const found = Buffer.from(scanner.bytes.subarray(from, to)).indexOf(needle);
      if (scanner.indexOf(needle, from, to) !== (found < 0 ? -1 : from + found))
        expect({ from, to, needle }).toBe("found");
    }
  });

  it("finds needles that are long, empty, or changed since they were last sought", () => {
    const scanner = make(PAGE);
    scanner.bytes.fill("ab");
    const long = Buffer.from(`${"ab".repeat(3000)}c`);
    expect(scanner.indexOf(long, 0, PAGE)).toBe(-1);
    scanner.bytes.set(long, PAGE - long.length);
    expect(scanner.indexOf(long, 0, PAGE)).toBe(PAGE - long.length);
    expect(scanner.indexOf(long, 0, PAGE - 1)).toBe(-1);
    expect(scanner.indexOf(Buffer.alloc(0), 5, 9)).toBe(5);
    const needle = Buffer.from("ba");
    expect(scanner.indexOf(needle, 0, PAGE)).toBe(1);
    needle.write("ac");
    expect(scanner.indexOf(needle, 0, PAGE)).toBe(-1);
    needle.write("bc");
    expect(scanner.indexOf(needle, 0, PAGE)).toBe(PAGE - 2);
  });

  it("gives the CRC-32C of the vectors that are known, and goes on from any place", () => {
    const scanner = make(PAGE);
    const of = (bytes: Uint8Array): number => {
      scanner.bytes.set(bytes, 3);
      return scanner.crc32c(0, 3, 3 + bytes.length);
    };
    expect(of(Buffer.from("123456789"))).toBe(0xe3069283);
    // RFC 3720, B.4
    expect(of(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(of(new Uint8Array(32).fill(255))).toBe(0x62a8ab43);
    expect(of(Uint8Array.from({ length: 32 }, (_, i) => i))).toBe(0x46dd794e);
    expect(of(Uint8Array.from({ length: 32 }, (_, i) => 31 - i))).toBe(0x113fdb5c);
    expect(of(new Uint8Array(0))).toBe(0);
    const next = random(3);
    for (let i = 0; i < PAGE; i++) scanner.bytes[i] = next() * 256;
    for (const [from, to] of ranges(PAGE)) {
      const middle = from + Math.floor(next() * (to - from));
      const whole = crc32c(0, scanner.bytes.subarray(from, to));
      if (scanner.crc32c(0, from, to) !== whole) expect([from, to]).toBe("whole");
      if (scanner.crc32c(scanner.crc32c(0, from, middle), middle, to) !== whole)
        expect([from, middle, to]).toBe("parts");
    }
  });

  it("finds the first line that is neither JSON nor blank", () => {
    const scanner = make(PAGE);
    const next = random(4);
    const lines = [
      "{}",
      '{"a":[1,"x"]}',
      "",
      " \t\r",
      "\r",
      "12",
      "[1",
      "nonsense",
      "\u00a0",
      '"\xff"',
      "\ufeff",
      "\ufeff1",
    ];
    for (let round = 0; round < 5000; round++) {
      const some = Array.from({ length: Math.floor(next() * 6) }, () =>
        Buffer.from(pick(next, lines), round % 2 ? "utf8" : "latin1"),
      );
      const from = Math.floor(next() * 70);
      let at = from;
      let expected = -1;
      for (const [i, line] of some.entries()) {
        scanner.bytes.set(line, at);
        const blank = /^[ \t\r]*$/.test(line.toString("latin1"));
        if (expected < 0 && !blank && !isJson(line)) expected = at;
        at += line.length;
        if (i < some.length - 1 || next() < 0.7) scanner.bytes[at++] = 10;
      }
      scanner.bytes.write("]\n}", at);
      if (scanner.badLine(from, at) !== expected) expect(scanner.bytes.toString("latin1", from, at)).toBe(expected);
    }
  });
});

describe("makeScanner", () => {
  it("gives the kernel's one here, with at least the bytes asked for, on a page", () => {
    withScanner(100_000, (scanner) => {
      expect(scanner).toBeInstanceOf(KernelScanner);
      expect(scanner.bytes.length).toBeGreaterThanOrEqual(100_000);
      expect(scanner.bytes.byteOffset % 4096).toBe(0);
    });
  });

  it("gives the same one again after it was given back, never one that is in use", () => {
    const first = makeScanner(3 << 20);
    const second = makeScanner(3 << 20);
    expect(second === first).toBe(false);
    giveBack(first);
    expect(() => giveBack(first)).toThrow("twice");
    expect(makeScanner(2 << 20) === first).toBe(true);
    giveBack(second);
    giveBack(first);
    expect(() =>
      withScanner(3 << 20, () => {
        throw new Error("in use");
      }),
    ).toThrow("in use");
    const seen = new Set(Array.from({ length: 1000 }, () => withScanner(3 << 20, (scanner) => scanner)));
    expect(seen.size).toBe(1);
  });

  it("keeps few that are idle, and makes thousands without running out of addresses", () => {
    const many = Array.from({ length: 2000 }, () => makeScanner(PAGE));
    expect(new Set(many).size).toBe(2000);
    for (const scanner of many) giveBack(scanner);
    const again = Array.from({ length: 20 }, () => makeScanner(PAGE));
    expect(again.filter((scanner) => many.includes(scanner)).length).toBeLessThan(8);
  });
});
