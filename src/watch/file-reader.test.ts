import {
  appendFileSync,
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { folder as tempFolder } from "../../test/support/folder.ts";
import { parseAgentId } from "../core/ids.ts";
import { type CursorRow, Registry } from "../registry/registry.ts";
import { type Batch, readNewLines } from "./file-reader.ts";
import { HeldFiles } from "./held-files.ts";

const AGENT = parseAgentId("reader-1");
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) => `{"n":${from + i},"text":"line number ${from + i}"}\n`).join("");
const numbers = (batch: Batch): number[] => batch.lines.map((line) => (JSON.parse(line) as { n: number }).n);

/** A file and a reader that goes on from its cursor. At each look one that has just begun, from the same cursor, finds the same. */
function reader(): { path: string; look: () => Batch; cursor: () => CursorRow | undefined } {
  const path = join(tempFolder(), "app.log");
  const files = new HeldFiles();
  onTestFinished(() => files[Symbol.dispose]());
  let cursor: CursorRow | undefined;
  const look = (): Batch => {
    using fresh = new HeldFiles();
    const other = readNewLines(AGENT, path, cursor, fresh);
    const batch = readNewLines(AGENT, path, cursor, files);
    expect(other.lines).toEqual(batch.lines);
    expect({ ...other.cursor, updated_at: "" }).toEqual({ ...batch.cursor, updated_at: "" });
    cursor = JSON.parse(JSON.stringify(batch.cursor)) as CursorRow;
    return batch;
  };
  return { path, look, cursor: () => cursor };
}

it("R-001.11, R-001.17, R-001.19: reads only what is new, from the exact byte", () => {
  const { path, look } = reader();
  writeFileSync(path, `${lines(0, 3)}{"n":3,`);
  expect(numbers(look())).toEqual([0, 1, 2]);
  expect(look().lines).toEqual([]);
  appendFileSync(path, `"text":"é"}\n${lines(4, 5)}`);
  const batch = look();
  expect(numbers(batch)).toEqual([3, 4]);
  expect(batch.total).toBe(5);
  expect(batch.restarted).toBeNull();
});

it("R-001.13: one read is bounded by lines and bytes, and a longer line still passes", () => {
  const { path, look } = reader();
  writeFileSync(path, lines(0, 450));
  expect([look().lines.length, look().lines.length, look().lines.length, look().lines.length]).toEqual([
    200, 200, 50, 0,
  ]);
  appendFileSync(path, `{"n":1,"text":"${"x".repeat(3 << 20)}"}\n${lines(2, 3)}`);
  const long = look();
  expect(long.lines).toHaveLength(1);
  expect(long.more).toBe(true);
  expect(numbers(look())).toEqual([2]);
});

it("R-001.16: a missing file, a folder, bad UTF-8 and an empty file do not throw", () => {
  const { path, look } = reader();
  expect(look().note).toMatch(/no such file/);
  writeFileSync(path, "");
  expect(look().lines).toEqual([]);
  writeFileSync(path, Buffer.from([0xff, 0xfe, 10]));
  expect(look().lines).toEqual(["\ufffd\ufffd"]);
  expect(readNewLines(AGENT, tempFolder(), undefined, new HeldFiles()).lines).toEqual([]);
});

it("R-001.12: renamed and made anew: the rest of the old file comes first", () => {
  const { path, look, cursor } = reader();
  writeFileSync(path, lines(0, 5));
  look();
  appendFileSync(path, lines(5, 8));
  renameSync(path, `${path}.1`);
  writeFileSync(path, lines(8, 10));
  expect([...numbers(look()), ...numbers(look()), ...numbers(look())]).toEqual([5, 6, 7, 8, 9]);
  expect(cursor()).toMatchObject({ missed_bytes: 0, generation: 2, line: 10 });
});

it("R-001.12: copied and truncated, also when it has grown past the place since", () => {
  const { path, look, cursor } = reader();
  writeFileSync(path, lines(0, 5));
  look();
  copyFileSync(path, `${path}.1`);
  truncateSync(path);
  appendFileSync(path, lines(100, 102));
  const short = look();
  expect(numbers(short)).toEqual([100, 101]);
  expect(short.restarted).toBe("truncated");
  truncateSync(path);
  appendFileSync(path, lines(200, 300));
  expect(numbers(look())).toEqual(Array.from({ length: 100 }, (_, i) => 200 + i));
  expect(cursor()).toMatchObject({ missed_bytes: 0, generation: 3 });
});

it("R-001.12: replaced by another file, with what was lost said", () => {
  const { path, look, cursor } = reader();
  writeFileSync(path, lines(0, 450));
  look();
  const unread = Buffer.byteLength(lines(200, 450));
  writeFileSync(`${path}.new`, lines(1000, 1003));
  renameSync(`${path}.new`, path);
  const batch = look();
  expect(numbers(batch)).toEqual([1000, 1001, 1002]);
  expect(batch.restarted).toBe("replaced");
  expect(cursor()?.missed_bytes).toBe(unread);
});

it("R-001.12: deleted and made again, perhaps with the same inode", () => {
  const { path, look } = reader();
  for (let round = 0; round < 5; round++) {
    writeFileSync(path, lines(round * 100, round * 100 + 20));
    expect(numbers(look())).toEqual(Array.from({ length: 20 }, (_, i) => round * 100 + i));
    rmSync(path);
  }
});

it("R-001.12: a file that was short when it was seen first is the same when it has grown", () => {
  const { path, look, cursor } = reader();
  writeFileSync(path, "{}\n");
  expect(look().lines).toEqual(["{}"]);
  for (let n = 0; n < 200; n += 10) {
    appendFileSync(path, lines(n, n + 10));
    expect(numbers(look())).toHaveLength(10);
  }
  expect(cursor()).toMatchObject({ generation: 1, line: 201 });
});

it("R-001.12: cut to a part of what was read: nothing is read twice, nothing is made up", () => {
  const { path, look, cursor } = reader();
  writeFileSync(path, lines(0, 100));
  look();
  truncateSync(path, Buffer.byteLength(lines(0, 60)) + 7);
  expect(look().lines).toEqual([]);
  truncateSync(path, Buffer.byteLength(lines(0, 50)));
  appendFileSync(path, lines(500, 502));
  expect(numbers(look()).every((n) => n >= 500)).toBe(true);
  // Grown past the place between two looks: where the part ended cannot be told.
  truncateSync(path, Buffer.byteLength(lines(0, 50)));
  appendFileSync(path, lines(600, 700));
  const seen = numbers(look());
  expect(seen.every((n) => n >= 600)).toBe(true);
  expect(new Set(seen).size).toBe(seen.length);
  expect(cursor()?.missed_bytes).toBeGreaterThan(0);
});

it("R-001.12: a second name for the file changes nothing", () => {
  const { path, look } = reader();
  writeFileSync(path, lines(0, 5));
  look();
  linkSync(path, `${path}.link`);
  appendFileSync(path, lines(5, 6));
  expect(numbers(look())).toEqual([5]);
});

it("R-001.12: a file that is held open is read to its end though it was deleted", () => {
  using files = new HeldFiles();
  const path = join(tempFolder(), "app.log");
  writeFileSync(path, lines(0, 5));
  let { cursor } = readNewLines(AGENT, path, undefined, files);
  appendFileSync(path, lines(5, 8));
  rmSync(path);
  writeFileSync(path, lines(8, 10));
  const seen: number[] = [];
  for (let look = 0; look < 3; look++) {
    const batch = readNewLines(AGENT, path, cursor, files);
    seen.push(...numbers(batch));
    ({ cursor } = batch);
  }
  expect(seen).toEqual([5, 6, 7, 8, 9]);
  expect(cursor).toMatchObject({ missed_bytes: 0, generation: 2, line: 10 });
});

/** Bytes that this thread has read, by the kernel's count. */
function bytesRead(act: () => void): number {
  const count = (): number => Number(/rchar: (\d+)/.exec(readFileSync("/proc/thread-self/io", "latin1"))?.[1]);
  const own = -count() + count();
  const before = count();
  act();
  return count() - before - own;
}

it("R-001.20: a look costs the same however long a log is, and 150 places are kept in one write of less than 1 KiB each", () => {
  const { path, look } = reader();
  const small: number[] = [];
  for (const size of [100, 100_000]) {
    writeFileSync(path, lines(0, size));
    while (look().more);
    const nothing = bytesRead(() => expect(look().lines).toEqual([]));
    appendFileSync(path, lines(size, size + 1));
    const line = bytesRead(() => expect(look().lines).toHaveLength(1));
    renameSync(path, `${path}.1`);
    writeFileSync(path, lines(0, 3));
    const rotated = bytesRead(() => expect(look().restarted).not.toBeNull());
    small.push(nothing, line, rotated);
    rmSync(`${path}.1`);
  }
  // The longer one has 5 MB.
  for (const bytes of small) expect(bytes).toBeLessThan(32_768);

  const file = join(tempFolder(), "midwatch.db");
  Registry.open(file).close();
  const empty = statSync(file).size;
  const registry = Registry.open(file);
  using files = new HeldFiles();
  const one = readNewLines(AGENT, path, undefined, files).cursor;
  const rows = Array.from({ length: 150 }, (_, n) => ({ ...one, agent: parseAgentId(`agent-${n}`) }));
  registry.watched.putCursors(rows);
  registry.close();
  expect(statSync(file).size - empty).toBeLessThan(150 * 1024);
  const again = Registry.open(file);
  expect(again.watched.cursors()).toHaveLength(150);
  again.close();
});

it("R-001.12: cut within its first bytes and cut again later: what stands there since then is not read twice", () => {
  const { path, look } = reader();
  writeFileSync(path, lines(0, 100));
  look();
  for (const kept of [0, 2]) {
    const head = readFileSync(path, "utf8").split("\n", kept);
    truncateSync(
      path,
      head.reduce((size, line) => size + line.length + 1, 0),
    );
    look();
    const from = 1000 * (kept + 1);
    appendFileSync(path, lines(from, from + 100));
    expect(numbers(look())).toHaveLength(100);
    truncateSync(path, readFileSync(path).length - Buffer.byteLength(lines(from, from + 10)));
    const cut = look();
    expect([cut.restarted, cut.lines]).toEqual(["truncated", []]);
    appendFileSync(path, lines(from + 500, from + 501));
    expect(numbers(look())).toEqual([from + 500]);
  }
});
