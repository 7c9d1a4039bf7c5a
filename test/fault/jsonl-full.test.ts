import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { JSONLReader, JSONLWriter } from "../../src/index.ts";
import { mayMount, remount, tmpfs } from "../support/fault/tmpfs.ts";

if (!mayMount) console.warn("SKIPPED: full disks need root.");

it.skipIf(!mayMount)(
  "R-000.12, R-000.41: a full disk is told, nothing torn is left, and the writer goes on when there is room",
  () => {
    const disk = tmpfs("size=1m");
    const path = join(disk, "log.jsonl");
    writeFileSync(join(disk, "filler"), Buffer.alloc(512 << 10));
    const writer = new JSONLWriter(path);
    let n = 0;
    const fill = (): void => {
      for (;;) writer.append({ n: n++, text: "x".repeat(3000) });
    };
    for (let round = 0; round < 3; round++) {
      expect(fill).toThrow(expect.objectContaining({ code: "DISK_FULL", hint: expect.any(String) }));
      // The one that did not fit is not there, not even in part.
      n--;
      const lines = readFileSync(path, "utf8").split("\n");
      expect(lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line).n)).toEqual([
        ...Array(n).keys(),
      ]);
      expect(lines.at(-1)).toBe("");
      if (round === 0) rmSync(join(disk, "filler"));
      else remount(disk, `size=${round + 1}m`);
    }
    expect(statSync(path).size).toBeGreaterThan(1 << 20);
    const reader = new JSONLReader(path);
    expect([...reader.records()].map(({ data }) => (data as { n: number }).n)).toEqual([...Array(n).keys()]);
    remount(disk, "ro");
    expect(() => writer.append({ n })).toThrow(expect.objectContaining({ code: "NOT_WRITABLE" }));
    remount(disk, "rw");
    writer.append({ n });
    expect(reader.tail(1)).toMatchObject([{ data: { n } }]);
  },
);
