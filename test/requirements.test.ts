import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { requirements } from "./requirements.ts";

/** The ids that the titles of a test file begin with: one, or several with commas between. */
function citedIn(source: string): string[] {
  const titles = source.matchAll(/(\.(?:skip|todo)\(\s*)?["'`](R-\d+\.\d+(?:, R-\d+\.\d+)*)\b/g);
  return [...titles].flatMap(([, skipped, ids = ""]) => (skipped ? [] : ids.split(", ")));
}

const root = new URL("..", import.meta.url);
const cited = new Set(
  globSync(["src/**/*.test.ts", "test/**/*.test.ts"], { cwd: fileURLToPath(root) })
    .filter((path) => path !== "test/requirements.test.ts")
    .flatMap((path) => citedIn(readFileSync(new URL(path, root), "utf8"))),
);

it("every requirement is proven by a test, waits for something, or says why it does not apply", () => {
  const unproven = Object.entries(requirements)
    .filter(([id, { later, notApplicable }]) => later === undefined && notApplicable === undefined && !cited.has(id))
    .map(([id, { text }]) => `${id} ${text}`);
  expect(unproven).toEqual([]);
});

it("every cited requirement exists", () => {
  expect([...cited].filter((id) => !requirements[id])).toEqual([]);
});

it("what is put off or left out has a reason", () => {
  const silent = Object.entries(requirements).filter(
    ([, { later, notApplicable }]) => later?.trim() === "" || notApplicable?.trim() === "",
  );
  expect(silent).toEqual([]);
});

it("a citation is an id at the beginning of a title that runs", () => {
  expect(
    citedIn(`it("R-9.1, R-9.22: both", f); it.each(x)('R-9.3: each', f); it.skipIf(!y("z"))("R-9.4 if", f)`),
  ).toEqual(["R-9.1", "R-9.22", "R-9.3", "R-9.4"]);
  expect(citedIn(`// R-9.1\nit.todo("R-9.2: not yet"); it.skip("R-9.3: off", f); it("not R-9.4", f)`)).toEqual([]);
});
