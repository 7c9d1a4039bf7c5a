import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { FileSource, isSameFile } from "./source.ts";

const root = process.geteuid?.() === 0;
if (!root) console.warn("SKIPPED: only root can make a file of somebody else.");

it.skipIf(!root)(
  "a file of somebody else is read too, though only its owner may read it without leaving a trace",
  () => {
    const place = folder();
    const path = join(place, "theirs.log");
    writeFileSync(path, "line\n", { mode: 0o644 });
    chownSync(path, 1, 1);
    chmodSync(place, 0o755);
    process.seteuid?.(65_534);
    try {
      const source = FileSource.open(path);
      expect(source?.size()).toBe(5);
      source?.close();
    } finally {
      process.seteuid?.(0);
    }
  },
);

it("a file that grows stays the same where the file system keeps no time of birth", () => {
  const then = { dev: 1, ino: 7, birth_ms: 100 };
  expect(isSameFile({ dev: 1, ino: 7, birthtimeMs: 100, ctimeMs: 300 }, then)).toBe(true);
  expect(isSameFile({ dev: 1, ino: 7, birthtimeMs: 300, ctimeMs: 300 }, then)).toBe(true);
  expect(isSameFile({ dev: 1, ino: 7, birthtimeMs: 200, ctimeMs: 300 }, then)).toBe(false);
  expect(isSameFile({ dev: 1, ino: 8, birthtimeMs: 100, ctimeMs: 300 }, then)).toBe(false);
});
