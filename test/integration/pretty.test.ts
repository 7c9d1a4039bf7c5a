import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { driverNamed } from "../../src/drivers/index.ts";
import { activityText } from "../../src/operations/activity.ts";
import { CLI_NAMES } from "../support/cli/real-clis.ts";

it.each(CLI_NAMES)("a recorded stream of %s reads as what was said and done", (name) => {
  const stream = readFileSync(new URL(`../fixtures/streams/${name}-success.jsonl`, import.meta.url), "utf8");
  const reader = driverNamed(name).reader();
  const shown = stream
    .trim()
    .split("\n")
    .flatMap((line) => reader.read(JSON.parse(line)).map(activityText))
    .filter((line) => line !== undefined);
  // Gemini says it in pieces.
  expect(shown.join("")).toContain("Both lines are there.");
  expect(shown.some((line) => line.startsWith("-> "))).toBe(true);
  expect(shown.some((line) => line.startsWith("<- "))).toBe(true);
  expect(shown.filter((line) => line.startsWith("{"))).toEqual([]);
});
