import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { MidwatchError } from "../../src/core/errors.ts";
import { linkMove, makeFolder, removeFile, removeTree } from "../../src/disk/inside.ts";
import { pathAttacks } from "../soak/path-attacks.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";

const ATTEMPTS = 500;
const FLIPPER = fileURLToPath(new URL("../support/fault/flip.ts", import.meta.url));

interface Scene {
  root: string;
  outside: string;
}

/** A workspace in which another process keeps swapping `flip` for a link to a folder outside with the same names in it. */
async function attacked(below = "."): Promise<Scene> {
  const base = folder();
  const [root, outside] = [join(base, "root"), join(base, "outside")];
  mkdirSync(join(root, "flip"), { recursive: true });
  mkdirSync(outside);
  for (let i = 0; i < ATTEMPTS; i++) {
    for (const place of [join(root, "flip"), outside]) writeFileSync(join(place, `file-${i}`), "x");
  }
  symlinkSync(outside, join(root, "link"));
  const flipper = fork(FLIPPER, [join(root, below)]);
  onTestFinished(() => void flipper.kill("SIGKILL"));
  await once(flipper, "message");
  return { root, outside };
}

/** What came of each attempt, by kind; anything but our own refusal is a fault. */
function attempt(act: (i: number) => unknown): Map<string, number> {
  const seen = new Map<string, number>();
  for (let i = 0; i < ATTEMPTS; i++) {
    let what: string;
    try {
      what = String(act(i));
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      what = error.code;
    }
    seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  return seen;
}

it("R-004.13: removing files while a folder is swapped for a link hits none outside", async () => {
  const { root, outside } = await attacked();
  const seen = attempt((i) => removeFile(root, `flip/file-${i}`));
  expect(readdirSync(outside)).toHaveLength(ATTEMPTS);
  // The attack was real: some attempts met the folder and some the link.
  expect(seen.get("true")).toBeGreaterThan(0);
  expect(seen.get("UNSAFE_PATH")).toBeGreaterThan(0);
});

it("R-004.13: moving files while a folder is swapped for a link takes none from outside", async () => {
  const { root, outside } = await attacked();
  const seen = attempt((i) => linkMove(root, `flip/file-${i}`, `archive/file-${i}`));
  expect(readdirSync(outside)).toHaveLength(ATTEMPTS);
  expect(seen.get("moved")).toBeGreaterThan(0);
  expect(seen.get("UNSAFE_PATH")).toBeGreaterThan(0);
});

it("R-004.13: removing trees while a folder in them is swapped for a link hits nothing outside", async () => {
  const { root, outside } = await attacked("tree");
  const seen = attempt(() => {
    makeTree(root, outside);
    return removeTree(root, "tree");
  });
  expect(readdirSync(outside)).toHaveLength(ATTEMPTS);
  expect(seen.get("true")).toBeGreaterThan(0);
});

// Another seed every day; `npm run soak` does ten thousand. A failure names the seed.
it(
  "R-004.13: links, swaps, hard links, FIFOs and paths in facts lead stop, archive, restore, prune and reap nowhere (500 rounds)",
  async () => {
    const { failures, figures, seed } = await pathAttacks(500, Math.floor(Date.now() / 86_400_000));
    console.log("path attacks", figures);
    expect(failures, `seed ${seed}`).toEqual([]);
  },
  patient(600_000),
);

function makeTree(root: string, outside: string): void {
  try {
    makeFolder(root, "tree/flip");
    symlinkSync(outside, join(root, "tree", "link"));
    for (let i = 0; i < 20; i++) writeFileSync(join(root, "tree", "flip", `file-${i}`), "x", { flag: "wx" });
  } catch {
    // The attacker was faster; what there is will do.
  }
}
