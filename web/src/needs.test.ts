import { describe, expect, it } from "vitest";
import type { FleetItem } from "./fleet.ts";
import { needOf, stateOf } from "./needs.ts";

const NOW = Date.parse("2026-11-15T19:10:00Z");
const item = (more: Partial<FleetItem>): FleetItem => ({
  agent: "a-190000-000001",
  task: "TASK-20261115-190000-00000001",
  driver: "claude",
  role: null,
  parent: null,
  run: 1,
  phase: "running",
  outcome: null,
  guarantee: "cgroup",
  verdict: null,
  reason: null,
  queued: false,
  alive: null,
  hold: null,
  log: "",
  bytes: 2048,
  last_output_at: null,
  started_at: null,
  ended_at: null,
  exit: { code: null, signal: null },
  tokens: null,
  cost_usd: null,
  ...more,
});

describe("needOf", () => {
  it.each<[string, Partial<FleetItem>, string | undefined]>([
    ["one that gets on", { verdict: "on_track" }, undefined],
    ["one that drifts", { verdict: "drifting" }, undefined],
    ["one of which nothing is known", { verdict: "unknown" }, undefined],
    ["a blocked one", { verdict: "blocked" }, "blocked"],
    ["one off its track", { verdict: "off_track" }, "off_track"],
    ["a blocked one that was stopped since", { verdict: "blocked", phase: "drained", outcome: "stopped" }, undefined],
    ["one that is done", { phase: "drained", outcome: "completed" }, undefined],
    ["a failed one", { phase: "drained", outcome: "failed", exit: { code: 2, signal: null } }, "failed"],
    ["one that never started", { phase: "launch_failed" }, "failed"],
    ["one that hit a limit", { phase: "drained", outcome: "limit" }, "failed"],
    ["a lost one that works on", { phase: "lost", alive: [{ pid: 7, name: "node" }] }, "lost"],
    ["one whose end nobody saw", { phase: "drained", outcome: "lost" }, "lost"],
    ["one that will not end", { phase: "stuck", alive: [{ pid: 7, name: "dd" }] }, "stuck"],
    ["a held one", { hold: { why: "disk", since: "2026-11-15T19:09:00Z" } }, "held"],
  ])("%s", (_, more, kind) => {
    const need = needOf(item(more), NOW);
    expect(need?.kind).toBe(kind);
    if (need) expect(need.why).toMatch(/\.$/);
  });

  it("says a failure by its exit, and never calls exit 0 one", () => {
    const failed = { phase: "drained", outcome: "failed" } as const;
    expect(needOf(item({ ...failed, exit: { code: 2, signal: null } }), NOW)?.label).toBe("exit 2");
    expect(needOf(item({ ...failed, exit: { code: null, signal: "SIGKILL" } }), NOW)?.label).toBe("SIGKILL");
    expect(needOf(item({ ...failed, exit: { code: 0, signal: null } }), NOW)?.label).toBe("failed");
  });
});

it("says the state of a run in a word", () => {
  expect(stateOf(item({ queued: true })).word).toBe("queued");
  expect(stateOf(item({ phase: "drained", outcome: "completed" }))).toEqual({ word: "completed", tone: "ok" });
  expect(stateOf(item({ phase: "lost" })).tone).toBe("bad");
});
