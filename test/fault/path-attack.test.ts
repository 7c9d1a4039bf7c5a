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

/**
 * What came of each attempt; anything but our own refusal is a fault. Goes on until all that is wanted was seen: the attack was real when
 * some attempts met the folder and some the link, and an attacker that gets no turn shows neither.
 */
function attempt(wanted: readonly string[], act: (i: number) => unknown): Set<string> {
  const seen = new Set<string>();
  const until = performance.now() + patient(30_000);
  for (let i = 0; i < ATTEMPTS || (wanted.some((one) => !seen.has(one)) && performance.now() < until); i++) {
    try {
      seen.add(String(act(i % ATTEMPTS)));
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      seen.add(error.code);
    }
  }
  return seen;
}

it("R-004.13: removing files while a folder is swapped for a link hits none outside", async () => {
  const { root, outside } = await attacked();
  const wanted = ["true", "UNSAFE_PATH"];
  const seen = attempt(wanted, (i) => removeFile(root, `flip/file-${i}`));
  expect(readdirSync(outside)).toHaveLength(ATTEMPTS);
  expect([...seen]).toEqual(expect.arrayContaining(wanted));
});

it("R-004.13: moving files while a folder is swapped for a link takes none from outside", async () => {
  const { root, outside } = await attacked();
  const wanted = ["moved", "UNSAFE_PATH"];
  const seen = attempt(wanted, (i) => linkMove(root, `flip/file-${i}`, `archive/file-${i}`));
  expect(readdirSync(outside)).toHaveLength(ATTEMPTS);
  expect([...seen]).toEqual(expect.arrayContaining(wanted));
});

it("R-004.13: removing trees while a folder in them is swapped for a link hits nothing outside", async () => {
  const { root, outside } = await attacked("tree");
  const seen = attempt(["true"], () => {
    makeTree(root, outside);
    return removeTree(root, "tree");
  });
  expect(readdirSync(outside)).toHaveLength(ATTEMPTS);
  expect([...seen]).toContain("true");
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
