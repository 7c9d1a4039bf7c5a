import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { jsonlCount, jsonlPage, jsonlTail, jsonlVerify } from "../../src/log/jsonl/jsonl.ts";
import { differential } from "../soak/differential.ts";
import { folder } from "../support/folder.ts";

const FILES = 200;

describe("as the tools everybody knows", () => {
  it("R-000.15, R-000.16, R-000.17: tail, sed, wc, grep, rg and jq agree on random files", async () => {
    expect((await differential(FILES, 20261115)).failures).toEqual([]);
  });

  it("R-000.16: a line of 50 MB is one line", async () => {
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
    expect(await jsonlCount(file)).toMatchObject({ lines: 3, records: 3, partial: false });
  });

  it("R-000.3, R-000.16: a tail of N records has N, whatever blank lines lie between", () => {
    const file = join(folder(), "blank");
    writeFileSync(file, `{"n":0}\n\n{"n":1}\n${" ".repeat(200)}\r\n\n{"n":2}\n\r\n\n`);
    const records = (count: number) =>
      [...jsonlTail(file, count, { records: true })].flatMap(({ record }) =>
        record === undefined ? [] : [record.data],
      );
    expect(records(2)).toEqual([{ n: 1 }, { n: 2 }]);
    expect([records(0), records(9)]).toEqual([[], [{ n: 0 }, { n: 1 }, { n: 2 }]]);
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
    const verified = await jsonlVerify(file);
    expect(verified).toMatchObject({ ok: false, lines: 8, bad_count: 3, partial: true, index: "none" });
    expect(verified.bad.map(({ line_number, offset }) => [line_number, offset])).toEqual([
      [2, 8],
      [5, 21],
      [7, 34],
    ]);
  });
});
