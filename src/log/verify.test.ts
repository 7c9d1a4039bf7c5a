import { describe, expect, it, vi } from "vitest";
import { pick, random } from "../../test/support/data/random.ts";
import { follow } from "../core/progress.ts";
import { buildIndex } from "./build-index.ts";
import { crc32c } from "./crc32c.ts";
import { LineIndex } from "./line-index.ts";
import { forward, LINE_MAX } from "./lines.ts";
import { Log } from "./log.ts";
import { toRecord } from "./record.ts";
import { KernelScanner, PlainScanner, type Scanner } from "./scanner.ts";
import { BufferSource } from "./source.ts";
import { type Verified, verify, verifyWith } from "./verify.ts";

vi.setConfig({ testTimeout: 60_000 });

const CAPACITY = LINE_MAX + (1 << 20);
const CHUNK = 512 << 10;

/** Line by line, as a reader sees them. */
function obvious(log: Log, end: number): Omit<Verified, "index"> {
  const bad: Verified["bad"] = [];
  let lines = 0;
  let partial = false;
  for (const line of forward(log.source, 0, end)) {
    lines++;
    partial = !line.whole;
    const record = toRecord(line, lines, 0, log.options);
    if (record?.type === "parse_error")
      bad.push({ line_number: lines, offset: line.offset, error: record.error as string });
  }
  return { ok: bad.length === 0, lines, bytes: end, bad: bad.slice(0, 100), bad_count: bad.length, partial };
}

function logOf(bytes: Buffer, json: boolean, index: Buffer = Buffer.alloc(0)): Log {
  return new Log(new BufferSource(bytes), new LineIndex(new BufferSource(index)), { type: "line", json });
}

const text = (length: number): string => `"${"x".repeat(Math.max(0, length - 2))}"`;

describe.each<[string, Scanner | undefined]>([
  ["plain", new PlainScanner(CAPACITY)],
  ["kernel", KernelScanner.make(CAPACITY)],
])("verify, %s", (_name, made) => {
  const scanner = made as Scanner;
  const judge = (log: Log, end: number): Promise<Verified> => follow(verifyWith(scanner, log, end), "checked");

  it("says of any log what a reader of each line would say", async () => {
    const next = random(5);
    const near = [CHUNK - 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7];
    const short = ["{}", '{"a":"ä"}', "", "\r", " \t", "[1", "text", '"\u00a0"', "\ufeff", "\ufeff1", '{"a":1}\r'];
    for (let round = 0; round < 150; round++) {
      const lines = Array.from({ length: Math.floor(next() * 40) }, () => {
        const line = next() < 0.05 ? text(pick(next, near)) : pick(next, short);
        return Buffer.from(next() < 0.05 ? `${line}\xff` : line, next() < 0.5 ? "latin1" : "utf8");
      });
      const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
      const end = next() < 0.5 ? bytes.length : Math.floor(next() * bytes.length);
      for (const json of [true, false]) {
        const log = logOf(bytes, json);
        expect(await judge(log, end)).toEqual({ ...obvious(log, end), index: "none" });
      }
    }
  });

  it("shows the first 100 bad lines and counts all", async () => {
    const log = logOf(Buffer.from("no\n{}\n".repeat(5000)), true);
    const verified = await judge(log, 30_000);
    expect(verified).toEqual({ ...obvious(log, 30_000), index: "none" });
    expect([verified.bad_count, verified.bad.length, verified.lines]).toEqual([5000, 100, 10_000]);
  });

  it.each([0, 1, CHUNK])("judges lines up to 16 MiB and counts longer ones: %i more", async (more) => {
    const long = text(LINE_MAX + more);
    for (const line of [long, long.slice(0, -1)])
      for (const parts of [[line], [line, "\n"], ['{"a":1}\n', line, "\nno\n{}\n"]]) {
        const log = logOf(Buffer.from(parts.join("")), true);
        const end = log.source.size();
        expect(await judge(log, end)).toEqual({ ...obvious(log, end), index: "none" });
      }
  });

  it("checks every entry of the index against the bytes", async () => {
    const next = random(6);
    const bytes = Buffer.from(
      Array.from({ length: 9000 }, () => text(2 + Math.floor(next() * 700)))
        .join("\n")
        .concat("\n"),
    );
    const index = withCrc(buildIndex(new BufferSource(bytes), bytes.length), bytes);
    const state = async (changed: Buffer, entries: Buffer, end = changed.length): Promise<string> =>
      (await judge(logOf(changed, false, entries), end)).index;
    expect(index.length / 32).toBe(8);
    expect(await state(bytes, index)).toBe("ok");
    expect(await state(bytes, Buffer.alloc(0))).toBe("none");
    const last = Number(index.readBigUInt64LE(index.length - 24));
    expect(await state(bytes, index, last)).toBe("ok");
    expect(await state(bytes, index, last - 1)).toBe("wrong");
    for (let i = 0; i < 40; i++) {
      const lie = Buffer.from(index);
      const at = Math.floor(next() * (index.length / 32)) * 32 + pick(next, [0, 1, 8, 9, 24, 27]);
      lie[at] = (lie[at] as number) ^ (1 << Math.floor(next() * 8));
      expect(await state(bytes, lie), `entry byte ${at}`).toBe("wrong");
      const damaged = Buffer.from(bytes);
      const place = Math.floor(next() * last);
      damaged[place] = (damaged[place] as number) ^ (1 << Math.floor(next() * 8));
      expect(await state(damaged, index), `byte ${place}`).toBe("wrong");
    }
    const longer = Buffer.concat([bytes, Buffer.alloc((64 << 20) + 1000, `${text(999)}\n`)]);
    expect(await state(longer, index)).toBe("stale");
    expect(await state(bytes, Buffer.concat([index, index.subarray(0, 32)]))).toBe("wrong");
  });
});

/** As the keeper writes it: an index made anew has no CRC. */
function withCrc(index: Buffer, bytes: Buffer): Buffer {
  for (let at = 0, from = 0; at < index.length; at += 32) {
    const to = Number(index.readBigUInt64LE(at + 8));
    index.writeUInt32LE(crc32c(0, bytes.subarray(from, to)), at + 24);
    index.writeUInt32LE(0, at + 28);
    from = to;
  }
  return index;
}

it("verify tells how far it is, and stops where a shrunken file ends", async () => {
  const bytes = Buffer.alloc(200 << 20, '{"a":1}\n');
  const told: number[] = [];
  const verified = await follow(verify(logOf(bytes, true), bytes.length), "checked", (at) => told.push(at));
  expect([verified.ok, verified.lines, told.length]).toEqual([true, bytes.length / 8, 3]);
  expect(await follow(verify(logOf(Buffer.from("1\n2"), true), 100), "checked")).toMatchObject({
    lines: 2,
    partial: true,
    ok: true,
    bytes: 100,
  });
});
