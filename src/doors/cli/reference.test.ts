import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { operations } from "../../operations/index.ts";
import { JSON_FIELDS } from "../../operations/json-fields.ts";
import { reference } from "./reference.ts";

it("docs/operations.md is what the operations say; `npm run docs` writes it", () => {
  const written = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
  expect(written === reference(operations), "docs/operations.md is old: npm run docs").toBe(true);
});

it("what is told of --json is told of operations that there are", () => {
  const names = operations.map(({ name }) => name);
  expect(Object.keys(JSON_FIELDS).filter((name) => !names.includes(name))).toEqual([]);
});
