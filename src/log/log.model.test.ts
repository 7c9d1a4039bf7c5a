import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { follow } from "../core/progress.ts";
import { packFile } from "../disk/archive.ts";
import { buildIndex } from "./build-index.ts";
import { crc32c } from "./crc32c.ts";
import { LineIndex } from "./line-index.ts";
import { Log, type LogPlace } from "./log.ts";
import { BufferSource } from "./source.ts";
import { verify } from "./verify.ts";

const dir = mkdtempSync(join(tmpdir(), "midwatch-log-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Bytes in which newlines, empty lines, CR, NUL and broken UTF-8 are frequent. */
const content = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant("\n") },
      { weight: 1, arbitrary: fc.constantFrom("\r\n", "\0", '{"a":1}', "[]", "\xff", "ä") },
      fc.string({ maxLength: 12 }),
    ),
    { maxLength: 60 },
  )
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part, part === "\xff" ? "latin1" : "utf8"))));

/** Where each line begins, the obvious way. */
function lineStarts(bytes: Buffer): number[] {
  const starts = bytes.length > 0 ? [0] : [];
  for (let i = 0; i < bytes.length - 1; i++) if (bytes[i] === 10) starts.push(i + 1);
  return starts;
}

/** An index as the keeper writes it, with an entry after every `each` lines. */
function indexOf(bytes: Buffer, each: number): LineIndex {
  const entries: Buffer[] = [];
  let from = 0;
  let lines = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] !== 10 || ++lines % each !== 0) continue;
    const entry = Buffer.alloc(32);
    entry.writeBigUInt64LE(BigInt(lines), 0);
    entry.writeBigUInt64LE(BigInt(i + 1), 8);
    entry.writeBigUInt64LE(BigInt(1000 + lines), 16);
    entry.writeUInt32LE(crc32c(0, bytes.subarray(from, i + 1)), 24);
    entries.push(entry);
    from = i + 1;
  }
  return new LineIndex(new BufferSource(Buffer.concat(entries)));
}

const file = join(dir, "log");
let serial = 0;

/** The same bytes three ways: a plain file, one with an index, an archive. */
function* logsOf(bytes: Buffer, each: number): Generator<Log> {
  const options = { type: "stdout", json: false } as const;
  writeFileSync(file, bytes);
  const plain = Log.open(file, undefined, options) as Log;
  yield plain;
  yield new Log(plain.source, indexOf(bytes, each), options);
  const packed = join(dir, `${serial++}.zst`);
  for (const _ of packFile(file, packed, () => undefined));
  const archived = Log.open(packed, undefined, options) as Log;
  yield new Log(archived.source, indexOf(bytes, each), options);
  archived.close();
  plain.close();
  rmSync(packed);
}

describe("a log says the same as the bytes", { timeout: 60_000 }, () => {
  it("R-000.16, R-000.17: tail and page begin where they should, for any bytes, with and without index, plain and archived", () => {
    fc.assert(
      fc.property(content, fc.nat(70), fc.integer({ min: 1, max: 5 }), (bytes, n, each) => {
        const starts = lineStarts(bytes);
        const newlines = (to: number): number => bytes.subarray(0, to).filter((byte) => byte === 10).length;
        for (const log of logsOf(bytes, each)) {
          const end = log.end(false);
          expect(end).toBe(bytes.length);
          const tail = n === 0 ? bytes.length : (starts[Math.max(0, starts.length - n)] ?? bytes.length);
          expect(log.tail(n, end)).toEqual({ offset: tail, line: newlines(tail) });
          const page = starts[n] ?? (newlines(end) === n ? end : undefined);
          expect(log.atLine(n, end).offset).toBe(page ?? end);
          expect(log.end(true)).toBe(bytes.lastIndexOf(10) + 1);
          const read = [...log.records({ offset: 0, line: 0 }, end)].flatMap(({ record }) =>
            record ? [[record.seq, record.offset]] : [],
          );
          const blank = (i: number): boolean =>
            /^[\r \t]*$/.test(
              bytes
                .subarray(starts[i], starts[i + 1])
                .toString("latin1")
                .replace(/\n$/, ""),
            );
          expect(read).toEqual(starts.map((start, i) => [i + 1, start] as const).filter((_, i) => !blank(i)));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("R-000.28, R-000.6: a reader by cursor beside a writer gives each whole line once, in order (model)", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(content, fc.constant("read" as const)), { maxLength: 20 }), (steps) => {
        writeFileSync(file, "");
        const log = Log.open(file, undefined, { type: "stdout", json: false }) as Log;
        let place: LogPlace = { offset: 0, line: 0 };
        let written = Buffer.alloc(0);
        const read: Buffer[] = [];
        for (const step of [...steps, "read" as const]) {
          if (step !== "read") {
            appendFileSync(file, step);
            written = Buffer.concat([written, step]);
            continue;
          }
          const end = log.end(true);
          for (const { raw } of log.records(place, end)) read.push(Buffer.from(raw.bytes));
          place = { offset: end, line: (place.line ?? 0) + log.count(place.offset, end) };
        }
        log.close();
        const whole = written.subarray(0, written.lastIndexOf(10) + 1);
        const expected = whole.toString("latin1").split("\n").slice(0, -1);
        expect(read.map((line) => line.toString("latin1"))).toEqual(expected);
        expect(place.line).toBe(whole.filter((byte) => byte === 10).length);
      }),
      { numRuns: 5000 },
    );
  });

  it("R-000.17: an index made anew gives the same pages, and verify finds it right", async () => {
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 60 }), fc.nat(3000), async (bytes, repeat, n) => {
        const big = Buffer.concat(Array.from({ length: repeat }, () => bytes));
        writeFileSync(file, big);
        const plain = Log.open(file, undefined, { type: "stdout", json: false }) as Log;
        const log = new Log(
          plain.source,
          new LineIndex(new BufferSource(buildIndex(plain.source, big.length))),
          plain.options,
        );
        expect(log.atLine(n, big.length)).toEqual(plain.atLine(n, big.length));
        expect(["ok", "none"]).toContain((await follow(verify(log, big.length), "checked")).index);
        plain.close();
      }),
      { numRuns: 300 },
    );
  });

  it("an index that lies is noticed: entries that are not at a line start, or behind the end, are passed over", () => {
    fc.assert(
      fc.property(
        content,
        fc.array(fc.record({ line: fc.nat(50), offset: fc.nat(200), time: fc.bigInt(0n, 2n ** 64n - 1n) }), {
          maxLength: 5,
        }),
        fc.nat(30),
        (bytes, lies, n) => {
          const entries = lies
            .sort((a, b) => a.offset - b.offset)
            .map(({ line, offset, time }) => {
              const entry = Buffer.alloc(32);
              entry.writeBigUInt64LE(BigInt(line), 0);
              entry.writeBigUInt64LE(BigInt(offset), 8);
              entry.writeBigUInt64LE(time, 16);
              return entry;
            });
          writeFileSync(file, bytes);
          const plain = Log.open(file, undefined, { type: "stdout", json: false }) as Log;
          const log = new Log(plain.source, new LineIndex(new BufferSource(Buffer.concat(entries))), plain.options);
          // Offsets are always true line starts, whatever the index says; only numbers can be wrong, and verify tells.
          const { offset } = log.atLine(n, bytes.length);
          expect(offset === bytes.length || offset === 0 || bytes[offset - 1] === 10).toBe(true);
          expect([...log.records({ offset: 0, line: 0 }, bytes.length)]).toHaveLength(lineStarts(bytes).length);
          plain.close();
        },
      ),
      { numRuns: 500 },
    );
  });
});
