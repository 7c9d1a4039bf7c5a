import { expect, it } from "vitest";
import { needsWatch } from "./needs-watch.ts";

const NONE = { output_bytes: 1, wall_ms: 1, idle_ms: 1, tokens: 0, cost_usd: 0 };

it("a run needs somebody who watches for a limit of tokens or money, a verdict that is acted on, a budget, its turns, and its turn in the queue", () => {
  const needs = (limits: object, task?: { on_verdict?: "stop" | "notify" }, waits = false): boolean =>
    needsWatch({ limits: { ...NONE, ...limits }, driver: "claude" }, task, waits, () => false);
  expect(needs({})).toBe(false); // Its keeper sees to limits of time and output.
  expect(needs({}, {})).toBe(false);
  expect(needs({ tokens: 1 })).toBe(true);
  expect(needs({ cost_usd: 0.01 })).toBe(true);
  expect(needs({}, { on_verdict: "stop" })).toBe(true);
  expect(needs({}, { on_verdict: "notify" })).toBe(true);
  expect(needs({}, undefined, true)).toBe(true);
  const counted = (driver: string): boolean => needsWatch({ limits: NONE, driver }, undefined, false, () => true);
  expect([counted("claude"), counted("command")]).toEqual([true, false]);
  const told = (driver: string): boolean =>
    needsWatch({ limits: NONE, driver, journal: "turns" }, undefined, false, () => false);
  expect([told("claude"), told("command")]).toEqual([true, false]);
});
