import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Block, CLIS, rowReader } from "./read.ts";

function kinds(driver: string): Set<Block["kind"]> {
  const file = new URL(`../../../test/fixtures/streams/${driver}-success.jsonl`, import.meta.url);
  const read = rowReader(driver);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const rows = lines.map((line, i) => read({ seq: i + 1, offset: 0, type: "stdout", data: JSON.parse(line) }, i + 1));
  return new Set(rows.flatMap(({ blocks }) => blocks.map(({ kind }) => kind)));
}

describe("rowReader", () => {
  it.each(CLIS)("shows words, calls and results of a recorded stream of %s", (driver) => {
    const found = kinds(driver);
    expect(found).toContain("said");
    expect(found).toContain("tool");
    expect(found).toContain("result");
  });

  it("shows what a call is about, and an edit as what it replaces", () => {
    const input = { file_path: "/a.ts", old_string: "one", new_string: "two", replace_all: true };
    const data = { type: "assistant", message: { content: [{ type: "tool_use", id: "t", name: "Edit", input }] } };
    const [block] = rowReader("claude")({ seq: 1, offset: 0, type: "stdout", data }, 1).blocks;
    expect(block).toMatchObject({ kind: "tool", name: "Edit", brief: "/a.ts", edit: { before: "one", after: "two" } });
    expect((block as { detail: string }).detail).toContain("replace_all");
  });

  it("keeps what no driver knows readable, and cuts what is too long", () => {
    const read = rowReader("command");
    expect(read({ seq: 1, offset: 0, type: "stdout", data: { level: "info" } }, 1).blocks).toEqual([
      { kind: "json", text: '{"level":"info"}' },
    ]);
    const long = read({ seq: 2, offset: 0, type: "stdout", text: "x".repeat(100_000) }, 2);
    expect(long.cut).toBe(true);
    expect(JSON.stringify(long).length).toBeLessThan(10_000);
    expect(read({ seq: 3, offset: 0, type: "stdout", b64: "AAAA" }, 3).blocks).toEqual([
      { kind: "binary", text: "3 bytes that are not text" },
    ]);
  });
});
