import { expect, it } from "vitest";
import type { FleetItem } from "./fleet.ts";
import { needOf } from "./needs.ts";

const item = (more: Partial<FleetItem>): FleetItem => ({
  agent: "a-190000-000001",
  task: "TASK-20261115-190000-00000001",
  driver: "claude",
  role: null,
  parent: null,
  run: 1,
  phase: "running",
  outcome: null,
  status: "running",
  guarantee: "cgroup",
  verdict: null,
  reason: null,
  attention: null,
  queued: false,
  wake: null,
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
  cost_estimated: false,
  usd_per_hour: null,
  limit: null,
  ...more,
});

it("shows what the server says of an agent, and decides nothing itself", () => {
  expect(needOf(item({ phase: "drained", outcome: "failed", verdict: "blocked" }))).toBeUndefined();
  const attention = { kind: "asks", why: "It asks: Which database?", next: "midwatch logs a" } as const;
  const need = needOf(item({ phase: "drained", outcome: "completed", attention }));
  expect(need).toMatchObject({ ...attention, label: "asks you", brief: false });
});

it("shows an agent that failed in a short card, and one that lost its keeper with its processes", () => {
  const failed = { kind: "failed", why: "Run failed (exit 2).", next: "midwatch logs a" } as const;
  expect(needOf(item({ phase: "drained", outcome: "failed", attention: failed }))?.brief).toBe(true);
  const lost = { kind: "lost", why: "Its keeper is gone.", next: "midwatch stop a" } as const;
  const need = needOf(item({ phase: "lost", outcome: "lost", alive: [{ pid: 7, name: "node" }], attention: lost }));
  expect(need).toMatchObject({ brief: false, quote: "7 node" });
});
