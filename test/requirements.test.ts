import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { citations } from "./gate/citations.ts";
import { page, resultsIn } from "./gate/page.ts";
import { requirements } from "./requirements.ts";

const cited = citations();
const ids = new Set(cited.flatMap((citation) => citation.ids));

it("every requirement is cited by a test, waits for something, or says why it does not apply", () => {
  const uncited = Object.entries(requirements)
    .filter(([id, { later, notApplicable }]) => later === undefined && notApplicable === undefined && !ids.has(id))
    .map(([id, { text }]) => `${id} ${text}`);
  expect(uncited).toEqual([]);
});

it("every cited requirement exists", () => {
  expect([...ids].filter((id) => !requirements[id])).toEqual([]);
});

it("what is put off or left out has a reason", () => {
  const silent = Object.entries(requirements).filter(
    ([, { later, notApplicable }]) => later?.trim() === "" || notApplicable?.trim() === "",
  );
  expect(silent).toEqual([]);
});

// What a run proved is kept from run to run: this test is part of the next one.
it("docs/requirements.md is that of the manifest and the tests (npm run docs)", () => {
  const text = readFileSync(new URL("../docs/requirements.md", import.meta.url), "utf8");
  expect(text).toBe(page(requirements, cited, resultsIn(text)));
});
