import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonlCount, jsonlPage, jsonlTail, jsonlVerify } from "../../src/jsonl.ts";
import { Log } from "../../src/log/log.ts";
import { search } from "../../src/log/search.ts";
import { folder } from "../support/folder.ts";
import { randomFile, seeded } from "../support/random-file.ts";

const FILES = 250;

function tool(command: string, ...args: string[]): Buffer {
  const { stdout, error } = spawnSync(command, args, { maxBuffer: 1 << 30, env: { ...process.env, LC_ALL: "C" } });
  if (error) throw error;
  return stdout;
}

/** The lines as they are, newlines included. */
function bytesOf(items: Iterable<{ raw: { bytes: Buffer; whole: boolean } }>): Buffer {
  const copies: Buffer[] = [];
  for (const { raw } of items) copies.push(Buffer.concat([raw.bytes, Buffer.from(raw.whole ? "\n" : "")]));
  return Buffer.concat(copies);
}

describe("as the tools everybody knows", () => {
  it("R-000.15, R-000.16, R-000.17: tail, sed, wc and grep agree on random files", () => {
    const place = folder();
    mkdirSync(place, { recursive: true });
    const file = join(place, "file");
    const random = seeded(20261115);
    for (let i = 0; i < FILES; i++) {
      const bytes = randomFile(random);
      writeFileSync(file, bytes);
      const n = Math.floor(random() * 40);
      const from = Math.floor(random() * 60);
      expect(bytesOf(jsonlTail(file, n)).equals(tool("tail", "-n", String(n), file)), `tail ${i}`).toBe(true);
      const sed = n === 0 ? Buffer.alloc(0) : tool("sed", "-n", `${from + 1},${from + n}p`, file);
      // GNU sed keeps a missing last newline missing, as we do.
      expect(bytesOf(jsonlPage(file, from, n)).equals(sed), `page ${i}`).toBe(true);
      const { lines, bytes: size, partial } = jsonlCount(file);
      expect(lines - (partial ? 1 : 0), `count ${i}`).toBe(Number.parseInt(tool("wc", "-l", file).toString(), 10));
      expect(size).toBe(bytes.length);
      const log = Log.open(file, undefined, { type: "line", json: false }) as Log;
      const hits = [...search(log, "ab", 0, bytes.length)].map(({ seq }) => seq);
      log.close();
      const grep = tool("grep", "-a", "-n", "-F", "ab", file).toString("latin1").split("\n").filter(Boolean);
      expect(hits, `search ${i}`).toEqual(grep.map((line) => Number.parseInt(line, 10)));
    }
  });

  it("R-000.16: a line of 50 MB is one line", () => {
    const file = join(folder(), "long");
    writeFileSync(
      file,
      Buffer.concat([Buffer.from('{"first":1}\n"'), Buffer.alloc(50_000_000, "x"), Buffer.from('"\n{"last":2}\n')]),
    );
    const records = [...jsonlTail(file, 2)].map(({ record }) => ({ ...record, text: record?.text?.length }));
    expect(records).toMatchObject([
      { seq: 2, truncated: true, text: 16 << 20 },
      { seq: 3, data: { last: 2 } },
    ]);
    expect([...jsonlTail(file, 1)].map(({ record }) => record?.data)).toEqual([{ last: 2 }]);
    expect(jsonlCount(file)).toMatchObject({ lines: 3, records: 3, partial: false });
  });

  it("R-000.1, R-000.2, R-000.3, R-000.23: valid, torn, empty, valid: every line is what a strict parser says", async () => {
    const file = join(folder(), "mixed");
    writeFileSync(file, `{"a":1}\n{"a":\n\n[1,2]\nNaN\n"\\ud800"\n01\n{"a":1}`);
    const records = [...jsonlPage(file, 0, 100)].flatMap(({ record }) => record ?? []);
    expect(records.map(({ seq, type }) => [seq, type])).toEqual([
      [1, "line"],
      [2, "parse_error"],
      [4, "line"],
      [5, "parse_error"],
      [6, "line"],
      [7, "parse_error"],
      [8, "line"],
    ]);
    expect(records[1]).toMatchObject({
      line_number: 2,
      offset: 8,
      raw_content: '{"a":',
      error: expect.stringContaining("JSON"),
    });
    expect(records.at(-1)).toMatchObject({ partial: true, data: { a: 1 } });
    const verified = await jsonlVerify(file, () => undefined);
    expect(verified).toMatchObject({ ok: false, lines: 8, bad_count: 3, partial: true, index: "none" });
    expect(verified.bad.map(({ line_number, offset }) => [line_number, offset])).toEqual([
      [2, 8],
      [5, 21],
      [7, 34],
    ]);
  });
});
