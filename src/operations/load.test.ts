import { expect, it } from "vitest";
import { operations } from "./index.ts";
import { operationsFor } from "./load.ts";

it("an operation that is loaded alone is the one of the table", async () => {
  for (const operation of operations.filter(({ name }) => !name.includes(" "))) {
    const found = await operationsFor(operation.name);
    expect(found.filter(({ name }) => name === operation.name)).toEqual([operation]);
    expect([1, operations.length]).toContain(found.length);
  }
  expect(await operationsFor("version")).toHaveLength(1);
  expect(await operationsFor("no-such")).toBe(operations);
  expect(await operationsFor("constructor")).toBe(operations);
});

it("a success ends with the next useful command, unless its output is data for whoever reads it", () => {
  const without = operations.filter(({ next }) => next === undefined).map(({ name }) => name);
  expect(without.filter((name) => !name.startsWith("jsonl "))).toEqual([
    ...["logs", "page", "diff", "events", "metrics", "mcp", "verify", "demo", "completion", "version"],
  ]);
});
