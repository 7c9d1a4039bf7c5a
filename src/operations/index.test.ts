import { expect, it } from "vitest";
import { operations } from "./index.ts";

it("a success ends with the next useful command, unless its output is data for whoever reads it", () => {
  const without = operations.filter(({ next }) => next === undefined).map(({ name }) => name);
  expect(without.filter((name) => !name.startsWith("jsonl "))).toEqual([
    ...["logs", "page", "diff", "events", "metrics", "mcp", "verify", "demo", "completion", "version"],
  ]);
});
