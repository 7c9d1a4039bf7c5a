import { copyFileSync, linkSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import type { MidwatchError } from "../core/errors.ts";
import { assertHardLinks } from "../disk/hard-links.ts";
import { layout } from "../disk/layout.ts";
import { FileRegisters } from "./registers.ts";

const KEY = "leases/leader";

it("keeps the newest eight files of a register and every term", async () => {
  const root = folder();
  const registers = new FileRegisters(layout(root));
  for (let rev = 0; rev < 30; rev++) {
    expect(await registers.set(KEY, { rev }, rev)).toBe(rev + 1);
    await registers.set(`${KEY}/term-${rev}`, { event: "e" }, 0);
  }
  const names = readdirSync(join(root, "leases", "leader"));
  expect(names.filter((name) => name.endsWith(".json")).sort()).toEqual(
    ["23", "24", "25", "26", "27", "28", "29", "30"].map((n) => `${n}.json`),
  );
  expect(names.filter((name) => name.startsWith("term-"))).toHaveLength(30);
  expect(names.filter((name) => name.startsWith("."))).toEqual([]);
});

it.each([1, 5, 7, 8, 9, 20])(
  "R-003.19: a writer that stood still before its link while %i others were faster never wins",
  async (others) => {
    const root = folder();
    const quick = new FileRegisters(layout(root));
    await quick.set(KEY, "first", 0);
    let stood = false;
    // Everybody else moves on while this one stands between its look and its link.
    const slow = new FileRegisters(layout(root), (step) => {
      if (step !== "looked" || stood) return;
      stood = true;
      for (let n = 0; n < others; n++) syncSet(root, 2 + n, `quick ${n}`);
    });
    const won = await slow.set(KEY, "slow", 1).catch((error: MidwatchError) => error.code);
    expect(won === undefined || won === "OUTCOME_UNKNOWN").toBe(true);
    expect(await quick.get(KEY)).toEqual({ value: `quick ${others - 1}`, rev: others + 1 });
    expect(await quick.set(KEY, "next", others + 1)).toBe(others + 2);
  },
);

/** What another process does: the next file, and collecting the old ones. */
function syncSet(root: string, rev: number, value: string): void {
  const at = join(root, "leases", "leader");
  writeFileSync(join(at, `${rev}.json`), JSON.stringify(value), { flag: "wx" });
  for (const name of readdirSync(at)) if (Number.parseInt(name, 10) <= rev - 8) rmSync(join(at, name));
}

it("a damaged or half-written register is one without a value: it can be set", async () => {
  const root = folder();
  const registers = new FileRegisters(layout(root));
  await registers.set(KEY, "a", 0);
  writeFileSync(join(root, KEY, "1.json"), '{"v":1,"hol');
  expect(await registers.get(KEY)).toEqual({ value: null, rev: 1 });
  expect(await registers.set(KEY, "b", 1)).toBe(2);
});

it("a folder that is taken away begins anew", async () => {
  const root = folder();
  const registers = new FileRegisters(layout(root));
  for (let rev = 0; rev < 3; rev++) await registers.set(KEY, rev, rev);
  rmSync(join(root, "leases"), { recursive: true });
  expect(await registers.set(KEY, "old", 3)).toBeUndefined();
  expect(await registers.get(KEY)).toBeUndefined();
  expect(await registers.set(KEY, "new", 0)).toBe(1);
});

it.each(["../x", "leases/../../x", "leases/A", "leases", "leases/a/b/c/d", "tasks/x", "leases/a\0b", "leases/."])(
  "%j is no key",
  async (key) => {
    await expect(new FileRegisters(layout(folder())).set(key, 1, 0)).rejects.toMatchObject({ code: "BAD_ID" });
  },
);

it.each<[string, (from: string, to: string) => void]>([
  [
    "refuses links",
    () => {
      throw Object.assign(new Error("no links"), { code: "EPERM", syscall: "link" });
    },
  ],
  ["copies", copyFileSync],
  [
    "replaces",
    (from, to) => {
      rmSync(to, { force: true });
      linkSync(from, to);
    },
  ],
])("a file system that %s is refused with a hint, exit 5", (_, link) => {
  const root = folder();
  let thrown: unknown;
  try {
    assertHardLinks(root, link);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: "NO_HARD_LINKS", exitCode: 5, hint: expect.stringContaining("--workspace") });
  expect(readdirSync(root)).toEqual([]);
});

it("a sound file system passes and nothing of the test is left", () => {
  const root = folder();
  assertHardLinks(root);
  expect(readdirSync(root)).toEqual([]);
});
