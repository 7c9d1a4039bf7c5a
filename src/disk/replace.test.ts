import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFifo } from "../../test/support/fault/fifo.ts";
import { folder } from "../../test/support/folder.ts";
import { createExclusive, readJson, readText, replace, replaceFast } from "./replace.ts";

describe.each([
  ["replace", replace],
  ["replaceFast", replaceFast],
])("%s", (_, put) => {
  it("writes the whole file, replaces it, and leaves no other name behind", () => {
    const dir = folder();
    put(join(dir, "a.json"), "one");
    put(join(dir, "a.json"), Buffer.from("two"));
    expect(readFileSync(join(dir, "a.json"), "utf8")).toBe("two");
    expect(readdirSync(dir)).toEqual(["a.json"]);
  });

  it("R-004.14: gives files to the owner only", () => {
    const dir = folder();
    put(join(dir, "a.json"), "x");
    expect(statSync(join(dir, "a.json")).mode & 0o777).toBe(0o600);
  });

  it("replaces a link instead of writing through it", () => {
    const dir = folder();
    writeFileSync(join(dir, "victim"), "safe");
    symlinkSync("victim", join(dir, "a.json"));
    put(join(dir, "a.json"), "x");
    expect([readFileSync(join(dir, "victim"), "utf8"), readFileSync(join(dir, "a.json"), "utf8")]).toEqual([
      "safe",
      "x",
    ]);
  });

  it("keeps the old file and cleans up when it fails", () => {
    const dir = folder();
    mkdirSync(join(dir, "a.json", "full"), { recursive: true });
    expect(() => put(join(dir, "a.json"), "x")).toThrow();
    expect(readdirSync(dir)).toEqual(["a.json"]);
    expect(() => put(join(dir, "none", "a.json"), "x")).toThrow(/ENOENT/);
  });
});

describe("createExclusive", () => {
  it("creates once, with all of its content", () => {
    const dir = folder();
    expect(createExclusive(join(dir, "claim"), "first")).toBe(true);
    expect(createExclusive(join(dir, "claim"), "second")).toBe(false);
    expect(readFileSync(join(dir, "claim"), "utf8")).toBe("first");
    expect(readdirSync(dir)).toEqual(["claim"]);
  });

  it("does not follow a link", () => {
    const dir = folder();
    symlinkSync("elsewhere", join(dir, "claim"));
    expect(createExclusive(join(dir, "claim"), "x")).toBe(false);
    expect(existsSync(join(dir, "elsewhere"))).toBe(false);
  });
});

describe("readJson", () => {
  it("tells missing from unusable and never throws", () => {
    const dir = folder();
    writeFileSync(join(dir, "good"), '{"a":1}');
    writeFileSync(join(dir, "torn"), '{"a":');
    writeFileSync(join(dir, "empty"), "");
    expect(readJson(join(dir, "good"))).toEqual({ value: { a: 1 }, reason: undefined });
    expect(readJson(join(dir, "none"))).toEqual({ value: undefined, reason: undefined });
    for (const name of ["torn", "empty", "."]) {
      const { value, reason } = readJson(join(dir, name));
      expect([value, typeof reason]).toEqual([undefined, "string"]);
    }
  });
});

it("a FIFO or a device in the place of a file keeps no reader waiting", () => {
  const dir = folder();
  makeFifo(join(dir, "fifo"));
  for (const path of [join(dir, "fifo"), "/dev/zero", dir]) {
    expect(readJson(path)).toEqual({ value: undefined, reason: expect.stringContaining("not a plain file") });
    expect(readText(path)).toBe(undefined);
  }
});
