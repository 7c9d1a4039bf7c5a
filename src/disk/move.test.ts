import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { moveTree } from "./move.ts";

function place(files: Record<string, string>): string {
  const root = folder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const read = (root: string, path: string): string => readFileSync(join(root, path), "utf8");

it("moves a file or a folder as it is, and makes the folders on the way", () => {
  const root = place({ "a/file": "1", "a/deep/er": "2" });
  symlinkSync("/etc/hostname", join(root, "a", "link"));
  expect(moveTree(root, "a", "trash/x/a")).toEqual([]);
  expect([read(root, "trash/x/a/file"), read(root, "trash/x/a/deep/er")]).toEqual(["1", "2"]);
  expect(readlinkSync(join(root, "trash/x/a/link"))).toBe("/etc/hostname");
  expect([existsSync(join(root, "a")), moveTree(root, "a", "b")]).toEqual([false, []]);
});

it("makes one of two folders and replaces nothing: what is in the way stays on both sides and is named", () => {
  const root = place({ "from/same": "new", "from/sub/other": "x", "to/same": "old", "to/sub/kept": "y" });
  expect(moveTree(root, "from", "to")).toEqual(["from/same"]);
  expect([read(root, "from/same"), read(root, "to/same")]).toEqual(["new", "old"]);
  expect([read(root, "to/sub/other"), read(root, "to/sub/kept")]).toEqual(["x", "y"]);
  expect(existsSync(join(root, "from", "sub"))).toBe(false);
});

it("R-004.13: goes through no link and nowhere outside", () => {
  const root = place({ "a/file": "1" });
  const outside = place({ file: "theirs" });
  symlinkSync(outside, join(root, "link"));
  expect(() => moveTree(root, "link/file", "a/taken")).toThrow(expect.objectContaining({ code: "UNSAFE_PATH" }));
  expect(() => moveTree(root, "a/file", "link/new")).toThrow(expect.objectContaining({ code: "UNSAFE_PATH" }));
  expect(() => moveTree(root, "../x", "a/x")).toThrow(expect.objectContaining({ code: "UNSAFE_PATH" }));
  expect([read(root, "a/file"), read(outside, "file"), existsSync(join(outside, "new"))]).toEqual([
    "1",
    "theirs",
    false,
  ]);
});
