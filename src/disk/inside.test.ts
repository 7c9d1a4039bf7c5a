import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { syncedPaths } from "../../test/support/fault/synced.ts";
import { folder } from "../../test/support/folder.ts";
import { assertInside, linkMove, makeFolder, removeFile, removeTree } from "./inside.ts";
import { makeFolders } from "./make-folders.ts";

/** A workspace `root` with a folder beside it that must stay as it is. */
function scene(): { root: string; outside: string } {
  const base = folder();
  const root = join(base, "root");
  const outside = join(base, "outside");
  mkdirSync(join(root, "logs"), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "victim"), "safe");
  symlinkSync(outside, join(root, "link"));
  return { root, outside };
}

describe("R-004.13: paths stay inside the workspace", () => {
  it.each(["../outside/victim", "/etc/passwd", "logs/../../outside/victim", "a\0b", "link/victim"])(
    "R-004.13: %j is refused by everything",
    (path) => {
      const { root, outside } = scene();
      expect(() => assertInside(root, path)).toThrow(/UNSAFE|outside|link/);
      expect(() => removeFile(root, path)).toThrow(/outside|link/);
      expect(() => removeTree(root, path)).toThrow(/outside|link/);
      expect(() => makeFolder(root, path)).toThrow(/outside|link/);
      expect(() => linkMove(root, path, "logs/x")).toThrow(/outside|link/);
      writeFileSync(join(root, "logs", "x"), "x");
      expect(() => linkMove(root, "logs/x", path)).toThrow(/outside|link/);
      expect(readdirSync(outside)).toEqual(["victim"]);
    },
  );

  it("a root that is a link is refused", () => {
    const { root } = scene();
    expect(() => assertInside(join(root, "link"), "x")).toThrow(/symbolic link/);
    expect(() => removeFile(join(root, "link"), "victim")).toThrow(/symbolic link/);
  });

  it("the workspace itself cannot be removed", () => {
    const { root } = scene();
    expect(() => removeTree(root, root)).toThrow(/workspace itself/);
    expect(() => removeTree(root, "logs/..")).toThrow(/workspace itself/);
  });

  it("what does not exist yet is inside when its folders are", () => {
    const { root } = scene();
    assertInside(root, "logs/new/file");
    assertInside(root, join(root, "logs", "x"));
    assertInside(root, root);
  });
});

describe("makeFolder", () => {
  it("makes what is missing, for the owner only", () => {
    const { root } = scene();
    makeFolder(root, "a/b/c");
    makeFolder(root, "a/b/c");
    expect(statSync(join(root, "a/b")).mode & 0o777).toBe(0o700);
  });
});

describe("removeFile", () => {
  it("removes a file and tells when there was none", () => {
    const { root } = scene();
    writeFileSync(join(root, "logs", "x"), "x");
    expect([removeFile(root, "logs/x"), removeFile(root, join(root, "logs/x")), removeFile(root, "no/x")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("removes a link, not its target", () => {
    const { root, outside } = scene();
    expect(removeFile(root, "link")).toBe(true);
    expect(existsSync(join(outside, "victim"))).toBe(true);
  });
});

describe("linkMove", () => {
  it("moves, making the folder", () => {
    const { root } = scene();
    writeFileSync(join(root, "logs", "x"), "one");
    expect(linkMove(root, "logs/x", "archive/x.1")).toBe("moved");
    expect(existsSync(join(root, "logs/x"))).toBe(false);
    expect(readFileSync(join(root, "archive/x.1"), "utf8")).toBe("one");
    expect(linkMove(root, "logs/x", "archive/x.2")).toBe("missing");
  });

  it("never overwrites", () => {
    const { root } = scene();
    makeFolder(root, "archive");
    writeFileSync(join(root, "logs", "x"), "new");
    writeFileSync(join(root, "archive", "x.1"), "old");
    expect(linkMove(root, "logs/x", "archive/x.1")).toBe("exists");
    expect(readFileSync(join(root, "archive/x.1"), "utf8")).toBe("old");
    expect(readFileSync(join(root, "logs/x"), "utf8")).toBe("new");
  });

  it("finishes a move that was cut off between link and unlink", () => {
    const { root } = scene();
    makeFolder(root, "archive");
    writeFileSync(join(root, "logs", "x"), "one");
    linkSync(join(root, "logs", "x"), join(root, "archive", "x.1"));
    expect(linkMove(root, "logs/x", "archive/x.1")).toBe("moved");
    expect(existsSync(join(root, "logs/x"))).toBe(false);
  });

  it("refuses to move a link", () => {
    const { root } = scene();
    expect(() => linkMove(root, "link", "logs/y")).toThrow(/not a plain file/);
  });
});

describe("removeTree", () => {
  it("removes everything below and no target of a link", () => {
    const { root, outside } = scene();
    mkdirSync(join(root, "t/a/b"), { recursive: true });
    writeFileSync(join(root, "t/a/b/f"), "x");
    symlinkSync(outside, join(root, "t/a/link"));
    symlinkSync("nowhere", join(root, "t/dangling"));
    expect([removeTree(root, "t"), removeTree(root, "t")]).toEqual([true, false]);
    expect(existsSync(join(root, "t"))).toBe(false);
    expect(readdirSync(outside)).toEqual(["victim"]);
  });

  it("gives up on a tree that is absurdly deep", () => {
    const { root } = scene();
    mkdirSync(join(root, "d/".repeat(250)), { recursive: true });
    expect(() => removeTree(root, "d")).toThrow(/folders deep/);
  });
});

it("a folder is made durable in the one above it, each on the way; one that was there is not touched", () => {
  const root = folder();
  const synced = syncedPaths();
  makeFolder(root, "TASK/runs/a");
  expect(synced).toEqual([root, join(root, "TASK"), join(root, "TASK/runs")]);
  makeFolder(root, "TASK/runs/b");
  expect(synced.slice(3)).toEqual([join(root, "TASK/runs")]);
  makeFolder(root, "TASK/runs/b");
  makeFolders(join(root, "x/y"));
  expect(synced.slice(4)).toEqual([root, join(root, "x")]);
});
