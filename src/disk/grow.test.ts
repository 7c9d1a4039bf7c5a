import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { compareExtent, cutKeeping, Growing } from "./grow.ts";

it("grows exactly, tells what it wrote from what others added, and keeps theirs aside", () => {
  const path = join(folder(), "archive.md");
  let file = new Growing(path, 0);
  file.write("ä first\n");
  const one = file.sync();
  file.close();
  expect(one.bytes).toBe(9);
  expect(compareExtent(path, one)).toBe("same");
  file = new Growing(path, one.bytes);
  file.write("x".repeat(3_000_000));
  const two = file.sync();
  file.close();
  expect(two.bytes).toBe(3_000_009);
  expect(compareExtent(path, one)).toBe("longer");
  cutKeeping(path, one.bytes, `${path}.bak`);
  expect(readFileSync(path, "utf8")).toBe("ä first\n");
  expect(readFileSync(`${path}.bak`)).toHaveLength(3_000_009);
  expect(compareExtent(path, one)).toBe("same");
  writeFileSync(path, "? first\n\n");
  expect(compareExtent(path, one)).toBe("different");
  writeFileSync(path, "");
  expect(compareExtent(path, one)).toBe("different");
});

it("follows no link", () => {
  const place = folder();
  writeFileSync(join(place, "outside"), "outside");
  symlinkSync(join(place, "outside"), join(place, "link"));
  expect(() => new Growing(join(place, "link"), 0)).toThrow(/symbolic link/);
  expect(compareExtent(join(place, "link"), { bytes: 0, sha256: "" })).toBe("different");
  expect(readFileSync(join(place, "outside"), "utf8")).toBe("outside");
});
