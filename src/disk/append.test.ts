import { appendFileSync, linkSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeFifo } from "../../test/support/fault/fifo.ts";
import { folder } from "../../test/support/folder.ts";
import { append, appendLines } from "./append.ts";

function lines(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").slice(0, -1);
}

describe("append", () => {
  it("R-000.4, R-000.9: adds one line for each record, UTF-8 as it is, and never truncates", () => {
    const path = join(folder(), "events.log");
    append(path, [{ n: 1 }]);
    append(path, [{ n: 2, text: "für\nzwei" }, { n: 3 }], { sync: true });
    append(path, []);
    expect(lines(path)).toEqual(['{"n":1}', '{"n":2,"text":"für\\nzwei"}', '{"n":3}']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("R-000.6: closes a torn tail first, so that the next record is not glued to it", () => {
    const path = join(folder(), "events.log");
    append(path, [{ n: 1 }]);
    appendFileSync(path, '{"n":2,"te');
    append(path, [{ n: 3 }]);
    append(path, [{ n: 4 }]);
    expect(lines(path)).toEqual(['{"n":1}', '{"n":2,"te', '{"n":3}', '{"n":4}']);
  });

  it("R-000.41: makes a folder that is gone again", () => {
    const path = join(folder(), "deep", "er", "events.log");
    append(path, [{ n: 1 }]);
    expect(lines(path)).toEqual(['{"n":1}']);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  });

  it("R-004.13: refuses a file that has another name too, and a FIFO", () => {
    const dir = folder();
    writeFileSync(join(dir, "victim"), "");
    linkSync(join(dir, "victim"), join(dir, "events.log"));
    makeFifo(join(dir, "fifo"));
    for (const name of ["events.log", "fifo"])
      expect(() => append(join(dir, name), [{}])).toThrow(expect.objectContaining({ code: "UNSAFE_PATH" }));
    expect(readFileSync(join(dir, "victim"), "utf8")).toBe("");
  });

  it("refuses a link and a folder", () => {
    const dir = folder();
    writeFileSync(join(dir, "victim"), "");
    symlinkSync("victim", join(dir, "link"));
    expect(() => append(join(dir, "link"), [{}])).toThrow(/symbolic link/);
    expect(() => append(dir, [{}])).toThrow();
    expect(statSync(join(dir, "victim")).size).toBe(0);
  });

  it("whatever is torn before, every appended record can be read", () => {
    const path = join(folder(), "events.log");
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.jsonValue()), { maxLength: 5 }), (steps) => {
        writeFileSync(path, "");
        for (const [torn, value] of steps) {
          appendFileSync(path, torn.replaceAll("\n", ""));
          append(path, [{ value }]);
        }
        const read = lines(path).filter((line) => line.startsWith('{"value":'));
        return steps.every(([, value], i) => read[i] === JSON.stringify({ value }));
      }),
      { numRuns: 20 },
    );
  });

  it("takes lines that are bytes already", () => {
    const path = join(folder(), "x");
    appendLines(path, Buffer.from("a\nb\n"));
    expect(lines(path)).toEqual(["a", "b"]);
  });
});
