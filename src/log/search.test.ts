import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { Log } from "./log.ts";
import { type Hit, search } from "./search.ts";

const dir = mkdtempSync(join(tmpdir(), "midwatch-search-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const CHUNK = 1 << 20;
const CONTEXT = 120;
const NEEDLE = "ab\u00e9";

/** What a person would do: cut into lines, look into each. */
function plain(bytes: Buffer): Hit[] {
  const hits: Hit[] = [];
  const needle = Buffer.from(NEEDLE);
  for (let offset = 0, seq = 1; offset < bytes.length; seq++) {
    const newline = bytes.indexOf(10, offset);
    const end = newline < 0 ? bytes.length : newline + 1;
    const at = bytes.subarray(offset, end).indexOf(needle);
    if (at >= 0) {
      const from = Math.max(0, at - CONTEXT);
      const to = Math.min(end - offset, at + needle.length + CONTEXT);
      const text = bytes.subarray(offset + from, offset + to).toString();
      hits.push({ offset, seq, timestamp: null, text: text.replace(/\r?\n$/, "") });
    }
    offset = end;
  }
  return hits;
}

const line = fc.tuple(
  fc.oneof({ weight: 20, arbitrary: fc.nat(300) }, { weight: 2, arbitrary: fc.nat(CHUNK * 2) }),
  fc.boolean(),
  fc.nat(300),
  fc.constantFrom("\n", "\r\n"),
);

it("finds what a look at each line finds, also where lines and text go across chunks", () => {
  const path = join(dir, "log");
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 60 }),
      fc.integer({ min: -8, max: 8 }),
      fc.boolean(),
      (lines, near, open) => {
        // The first lines end near the end of a chunk, so that the text is cut by it.
        const parts = [`${"x".repeat(CHUNK + near - 1)}\n`, `${"y".repeat(CHUNK + near - 6)}${NEEDLE}\n`];
        for (const [before, has, behind, newline] of lines)
          parts.push(`${"-".repeat(before)}${has ? NEEDLE : "ab"}${"=".repeat(behind)}${newline}`);
        if (open) parts.push(`unfinished ${NEEDLE}`);
        const bytes = Buffer.from(parts.join(""));
        writeFileSync(path, bytes);
        const log = Log.open(path, undefined, { type: "stdout", json: false }) as Log;
        try {
          expect([...search(log, NEEDLE, 0, bytes.length)]).toEqual(plain(bytes));
        } finally {
          log.close();
        }
      },
    ),
    { numRuns: 40 },
  );
});
