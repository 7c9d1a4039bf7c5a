import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { ended, supportFile } from "../support/workspace.ts";

const LINES = 400_000;

it("where every line is a hit, a search holds a few batches of them, however slowly they are taken", async () => {
  const path = join(folder(), "x.log");
  writeFileSync(
    path,
    `${"a hit in each line, and some more text behind it, so that it has the length of a usual line\n".repeat(LINES)}`,
  );
  const { code, stdout, stderr } = await ended(lab().node(supportFile("worker/slow-search.ts"), path));
  expect([code, stderr]).toEqual([0, ""]);
  const { hits, grownMb } = JSON.parse(stdout) as { hits: number; grownMb: number };
  expect(hits).toBe(2 * LINES);
  expect(grownMb).toBeLessThan(160);
}, 90_000);
