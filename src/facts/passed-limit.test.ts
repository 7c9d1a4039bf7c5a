import { expect, it } from "vitest";
import type { PassedLimit } from "../core/needs-watch.ts";
import type { RunResult } from "../core/types.ts";
import type { Facts } from "./facts.ts";
import { passedLimit } from "./passed-limit.ts";

const AT = "2026-11-19T21:00:00.000Z";
const END = "2026-11-19T21:00:09.000Z";
const limits = { output_bytes: 2048, wall_ms: 60_000, idle_ms: 0, tokens: 1000, cost_usd: 0.05 };
const exit = (more: object = {}): object => ({ stop_requested: true, limit: null, ended_at: END, ...more });
const result = (more: Partial<RunResult>): object => ({
  result: { outcome: "limit", tokens: null, cost_usd: null, ...more },
});
const parts = (usd: number): NonNullable<RunResult["spent"]> => [
  { model: "m", tokens: { input: 0, output: 0, cache_read: 0, cache_write: 0 }, usd, estimated: true },
];
const passed = (facts: object): PassedLimit | null => passedLimit({ intent: { limits }, ...facts } as unknown as Facts);
const told = { limit: "cost", reason: "", at: AT, value: 0.05, spent: 0.06, action: "stop" };

it("nothing was passed", () => {
  expect(passed({})).toBeNull();
  expect(passed({ exit: exit(), cleanup: result({ outcome: "completed", cost_usd: 3 }) })).toBeNull();
  // It ended by itself before the stop came.
  expect(passed({ stop: { limit: "cost" }, exit: exit({ stop_requested: false }) })).toBeNull();
});

it("before the end it has what was known then, afterwards all that it came to", () => {
  const then = { limit: "cost", value: 0.05, at: AT, spent: 0.06, overshoot: 0.01 };
  expect(passed({ limit: told })).toEqual(then);
  const stop = { limit: "cost", requested_at: AT };
  const cleanup = result({ cost_usd: null, spent: parts(0.07) });
  expect(passed({ limit: told, stop, exit: exit(), cleanup })).toEqual({ ...then, spent: 0.07, overshoot: 0.02 });
  // Without limit.json, as older releases stopped it.
  expect(passed({ stop, exit: exit(), cleanup })).toEqual({ ...then, spent: 0.07, overshoot: 0.02 });
  const exact = result({ cost_usd: 0.049, spent: parts(0.049) });
  expect(passed({ limit: told, stop, exit: exit(), cleanup: exact })).toMatchObject({ spent: 0.049, overshoot: 0 });
});

it("tokens of every kind count", () => {
  const tokens = { input: 1000, output: 100, cache_read: 50, cache_write: 7 };
  const cleanup = result({ tokens });
  expect(passed({ stop: { limit: "tokens", requested_at: AT }, exit: exit(), cleanup })).toEqual({
    limit: "tokens",
    value: 1000,
    at: AT,
    spent: 1157,
    overshoot: 157,
  });
});

it("a CLI that ended over its own budget, and limits of time and output", () => {
  const own = { exit: exit({ stop_requested: false }), cleanup: result({ cost_usd: 0.08, spent: parts(0.08) }) };
  expect(passed(own)).toEqual({ limit: "cost", value: 0.05, at: END, spent: 0.08, overshoot: 0.03 });
  const wall = { exit: exit({ limit: "wall" }), cleanup: result({ cost_usd: 3 }) };
  expect(passed(wall)).toEqual({ limit: "wall", value: 60_000, at: END, spent: null, overshoot: null });
  expect(passed({ exit: exit({ limit: "disk" }) })).toMatchObject({ limit: "disk", value: null });
});
