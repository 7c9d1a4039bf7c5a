import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { FileSource } from "./source.ts";

const root = process.geteuid?.() === 0;

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
