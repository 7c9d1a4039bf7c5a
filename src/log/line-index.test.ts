import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { ENTRY_BYTES, LineIndex } from "./line-index.ts";
import { FileSource } from "./source.ts";

const START = { line: 0, offset: 0 };
/** Ten lines of ten bytes, and an index that somebody wrote. */
function at(
  line: number,
  entries: readonly (readonly [line: number, offset: number])[],
): { line: number; offset: number } {
  const place = folder();
  writeFileSync(join(place, "log"), "123456789\n".repeat(10));
  const bytes = Buffer.alloc(entries.length * ENTRY_BYTES);
  for (const [i, entry] of entries.entries())
    for (const [j, value] of entry.entries()) bytes.writeBigUInt64LE(BigInt(value), i * ENTRY_BYTES + j * 8);
  writeFileSync(join(place, "idx"), bytes);
  const source = FileSource.open(join(place, "log")) as FileSource;
  const index = LineIndex.open(join(place, "idx"));
  const { line: found, offset } = index.before("line", line, source);
  index.close();
  source.close();
  return { line: found, offset };
}

it.each([
  [
    "what fits is used",
    7,
    [
      [3, 30],
      [6, 60],
    ],
    { line: 6, offset: 60 },
  ],
  [
    "one that lies behind the end",
    9,
    [
      [3, 30],
      [8, 800],
    ],
    { line: 3, offset: 30 },
  ],
  [
    "one inside a line",
    9,
    [
      [3, 30],
      [6, 61],
    ],
    { line: 3, offset: 30 },
  ],
  [
    "more lines than bytes",
    90,
    [
      [3, 30],
      [80, 60],
    ],
    { line: 3, offset: 30 },
  ],
  ["more lines than bytes, from the first", 90, [[80, 60]], START],
  [
    "lines that count down",
    9,
    [
      [6, 30],
      [4, 60],
    ],
    { line: 6, offset: 30 },
  ],
  [
    "offsets that go back",
    9,
    [
      [3, 60],
      [6, 30],
    ],
    { line: 3, offset: 60 },
  ],
  ["numbers beyond any file", 9, [[2 ** 60, 2 ** 62]], START],
  ["a thousand wrong ones", 9, [[1, 10], ...Array.from({ length: 1000 }, () => [2, 11] as const)], START],
] as const)("an entry of the index is a claim: %s", (_, line, entries, expected) => {
  expect(at(line, entries)).toEqual(expected);
});
