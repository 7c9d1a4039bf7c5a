import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import asc from "assemblyscript/asc";
import { describe, expect, it, vi } from "vitest";
import { fuzzJson, isJson } from "../../test/support/data/json-fuzz.ts";
import { INVALID, VALID } from "../../test/support/data/json-table.ts";
import { folder } from "../../test/support/folder.ts";
import { makeKernel } from "./kernel.ts";
import { KernelScanner, PlainScanner, type Scanner } from "./scanner.ts";

vi.setConfig({ testTimeout: 60_000 });

const root = fileURLToPath(new URL("../..", import.meta.url));
const wasm = join(root, "dist", "kernel.wasm");
const kernel = KernelScanner.make(4 << 20) as Scanner;

describe("dist/kernel.wasm", () => {
  it("is what kernel/ gives, and small", async () => {
    const written: Record<string, Uint8Array | string> = {};
    const { error, stderr } = await asc.main(
      ["--config", join(root, "kernel", "asconfig.json"), "--outFile", "kernel.wasm"],
      {
        writeFile: (name, contents) => {
          written[name] = contents;
        },
      },
    );
    expect(error, String(stderr)).toBeNull();
    expect(readFileSync(wasm).equals(written["kernel.wasm"] as Uint8Array), "an old build: npm run build").toBe(true);
    expect(readFileSync(wasm).length).toBeLessThan(16_384);
  });

  it("is found from src/log, dist/log and the bundle, and its absence is no error", async () => {
    const source = stripTypeScriptTypes(readFileSync(new URL("./kernel.ts", import.meta.url), "utf8"));
    for (const built of [true, false]) {
      const home = folder();
      for (const name of ["package.json", "src/log/kernel.mjs", "dist/log/kernel.mjs", "dist/midwatch.mjs"]) {
        mkdirSync(join(home, name, ".."), { recursive: true });
        writeFileSync(join(home, name), name === "package.json" ? "{}" : source);
      }
      if (built) copyFileSync(wasm, join(home, "dist", "kernel.wasm"));
      for (const name of ["src/log/kernel.mjs", "dist/log/kernel.mjs", "dist/midwatch.mjs"]) {
        const { makeKernel: make } = (await import(pathToFileURL(join(home, name)).href)) as {
          makeKernel: typeof makeKernel;
        };
        expect(make(10) !== undefined).toBe(built);
      }
    }
  });
});

describe.each<[string, Scanner]>([
  ["plain", new PlainScanner(4 << 20)],
  ["kernel", kernel],
])("%s: JSON and UTF-8, as JSON.parse after a strict decoding", (_name, scanner) => {
  /** At several alignments, with bytes behind it that would go on or close everything. */
  function verdicts(text: string | Buffer): boolean[] {
    const line = Buffer.from(text as string);
    return ['"', "0", "}", "]", " ", "\n", "\0", "\xbf"].map((behind, i) => {
      scanner.bytes.set(line, i * 5);
      scanner.bytes.fill(behind, i * 5 + line.length, i * 5 + line.length + 40, "latin1");
      return scanner.isJson(i * 5, i * 5 + line.length);
    });
  }

  it.each([
    ["takes", true, VALID],
    ["refuses", false, INVALID],
  ] as const)("%s the table", (_does, expected, table) => {
    for (const text of table) {
      const shown = JSON.stringify(Buffer.from(text as string).toString("latin1"));
      expect(isJson(Buffer.from(text as string)), `JSON.parse on ${shown}`).toBe(expected);
      expect(new Set(verdicts(text)), shown).toEqual(new Set([expected]));
    }
  });

  it("takes exactly the sequences of bytes in a string that are UTF-8", () => {
    const wrong: string[] = [];
    const differs = (...bytes: number[]): void => {
      const line = Buffer.from([34, ...bytes, 34]);
      scanner.bytes.set(line);
      if (scanner.isJson(0, line.length) !== isJson(line)) wrong.push(bytes.join(" "));
    };
    const step = scanner === kernel ? 1 : 37; // The plain one is the definition itself.
    const edges = [0x41, 0x7f, 0x80, 0xbf, 0xc0];
    for (let a = 0x80; a < 256; a += step) {
      for (let b = 0x20; b < 256; b++) {
        differs(a, b);
        for (const c of edges) {
          differs(a, b, c);
          if (a >= 0xf0) for (const d of edges) differs(a, b, c, d);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it("takes 256 levels and no more", () => {
    for (const [depth, taken] of [
      [1, true],
      [256, true],
      [257, false],
      [100_000, false],
      [1 << 20, false],
    ] as const) {
      scanner.bytes.fill("[", 0, depth).fill("]", depth, 2 * depth);
      expect(scanner.isJson(0, 2 * depth), `${depth}`).toBe(taken);
      expect(scanner.isJson(0, 2 * depth - 1), `${depth} less one`).toBe(false);
      expect(scanner.badLine(0, 2 * depth)).toBe(taken ? -1 : 0);
      expect(scanner.bytes.indexOf("]"), `${depth}: bytes changed`).toBe(depth);
      scanner.bytes.write("}", 2 * depth - 1);
      expect(scanner.isJson(0, 2 * depth), `${depth} closed wrongly`).toBe(false);
      expect(scanner.badLine(0, 2 * depth)).toBe(0);
    }
    for (const [text, taken] of [
      [`${'{"a":['.repeat(128)}1${"]}".repeat(128)}`, true],
      [`${'{"a":['.repeat(128)}[]${"]}".repeat(128)}`, false],
      [`[${"[{}],".repeat(1000)}1]`, true],
    ] as const) {
      scanner.bytes.write(text);
      expect(scanner.isJson(0, text.length)).toBe(taken);
    }
  });
});

describe("the kernel's validator", () => {
  it("agrees with JSON.parse on 200,000 mutated lines", () => {
    const { valid, differences } = fuzzJson(kernel, 200_000, 1);
    expect(differences).toEqual([]);
    expect(valid / 200_000).toBeGreaterThan(0.2);
    expect(valid / 200_000).toBeLessThan(0.8);
  });

  it("names the byte that does not fit", () => {
    const made = makeKernel(1000);
    if (made === undefined) throw new Error("no kernel");
    const base = made.kernel.BYTES.value;
    const fault = (text: string): number => {
      const line = Buffer.from(text, "latin1");
      new Uint8Array(made.memory).set(line, base);
      const at = made.kernel.validate(base, base + line.length);
      return at < 0 ? at : at - base;
    };
    expect(
      ["{}", "", "[1,]", '{"a":1', '"\\x"', '"a\x01"', '["\xc0"]', "nul", "1.e", '{"a" 1}', "1 1"].map(fault),
    ).toEqual([-1, 0, 3, 6, 2, 2, 2, 0, 2, 5, 2]);
  });
});
