import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../../test/support/folder.ts";
import { parseAgentId, parseTaskId } from "../../core/ids.ts";
import type { AgentSummary } from "../../core/summary.ts";
import { layout } from "../../disk/layout.ts";
import { self } from "../../process/identity.ts";
import type { Context } from "../../workspace/context.ts";
import { changeOpinionState, claimed, isDue, readOpinionState } from "./opinion-state.ts";

const task = parseTaskId("TASK-20261115-190000-0123abcd");
const agent = parseAgentId("fixer-1");
const first = { task, agent, run: 1 };
const second = { task, agent, run: 2 };
const START = Date.parse("2026-11-15T19:00:00Z");
const TIMES = { nowMs: START + 1000, startedMs: START, everyMs: 300_000, claimMs: 60_000, perDay: Infinity };

function made(): Context {
  const context = { layout: layout(folder()) } as Context;
  for (const run of [1, 2]) {
    const { intent } = context.layout.run(task, agent, run);
    mkdirSync(dirname(intent), { recursive: true });
    writeFileSync(intent, "{}");
  }
  return context;
}

const summary = (more: object = {}): AgentSummary =>
  ({ id: "a", final: false, on_track_status: "on_track", position: { line: 5 }, ...more }) as AgentSummary;

it("changes of many at once are made one after the other", async () => {
  const context = made();
  const add = (n: number) => () =>
    changeOpinionState(context, first, (state) => ({
      ...state,
      spent: [...state.spent, { id: String(n), atMs: START, tokens: 1 }],
    }));
  await Promise.all(Array.from({ length: 20 }, (_, n) => add(n)()));
  expect(readOpinionState(context, first).spent).toHaveLength(20);
});

it("the next run begins anew within the same budget, and a late call of the last one only costs", async () => {
  const context = made();
  const spent = [{ id: "1", atMs: START, tokens: 100 }];
  await changeOpinionState(context, first, (state) => ({ ...state, line: 9, about: "x", spent }));
  expect(readOpinionState(context, second)).toMatchObject({ run: 2, line: 0, about: null, spent });
  await changeOpinionState(context, second, (state) => ({ ...state, line: 3, about: "y" }));
  const kept = await changeOpinionState(context, first, (state) => ({ ...state, line: 12, spent: [] }));
  expect(kept).toBe(false);
  expect(readOpinionState(context, second)).toMatchObject({ run: 2, line: 3, about: "y", spent: [] });
});

it("nothing is made for an agent that was pruned", async () => {
  const context = made();
  rmSync(dirname(context.layout.run(task, agent, 1).intent), { recursive: true });
  expect(await changeOpinionState(context, first, (state) => ({ ...state, line: 1 }))).toBe(false);
  expect(readOpinionState(context, first).line).toBe(0);
});

it("a finding is asked about once, also by who is asked about findings alone, and so often a day", () => {
  const context = made();
  const state = { ...readOpinionState(context, first), line: 4, about: "a", asked_at: "2026-11-15T19:00:00.000Z" };
  const finding = { rule: "again", line: 3, since: "2026-11-15T19:00:00.000Z", cost_usd: null };
  const alone = { ...TIMES, everyMs: null, nowMs: START + 900_000 };
  expect(isDue(state, summary({ id: "b" }), alone)).toBe(false);
  expect(isDue(state, summary({ finding }), alone)).toBe(true);
  expect(isDue({ ...state, finding: 3 }, summary({ finding }), alone)).toBe(false);
  expect(isDue({ ...state, finding: 3 }, summary({ finding: { ...finding, line: 5 } }), alone)).toBe(true);
  expect(isDue(state, summary({ finding, verdict_source: "fact", level: "alert" }), alone)).toBe(false);
  const often = claimed(claimed(state, "c", alone.nowMs), "d", alone.nowMs);
  expect(isDue({ ...often, claim: null }, summary({ finding }), { ...alone, perDay: 2 })).toBe(false);
  expect(isDue({ ...often, claim: null }, summary({ finding }), { ...alone, perDay: 3 })).toBe(true);
  const tomorrow = alone.nowMs + 86_400_000;
  expect(isDue({ ...often, claim: null }, summary({ finding }), { ...alone, perDay: 2, nowMs: tomorrow })).toBe(true);
});

it("is due with new lines: when the verdict changes, or after a while; not while somebody alive is asking", () => {
  const context = made();
  const state = { ...readOpinionState(context, first), line: 4, about: "a", asked_at: "2026-11-15T19:00:00.000Z" };
  expect(isDue(state, summary(), TIMES)).toBe(false);
  expect(isDue(state, summary({ id: "b" }), TIMES)).toBe(true);
  expect(isDue(state, summary({ id: "b", final: true }), TIMES)).toBe(false);
  expect(isDue({ ...state, line: 5 }, summary({ id: "b" }), TIMES)).toBe(false);
  expect(isDue(state, summary(), { ...TIMES, nowMs: START + 300_000 })).toBe(true);
  const fresh = { ...state, about: null, asked_at: null };
  expect(isDue(fresh, summary({ on_track_status: "unknown" }), TIMES)).toBe(false);
  expect(isDue(fresh, summary(), TIMES)).toBe(true);
  const asking = claimed(state, "c", TIMES.nowMs);
  expect(isDue(asking, summary({ id: "b" }), TIMES)).toBe(false);
  expect(isDue(asking, summary({ id: "b" }), { ...TIMES, nowMs: START + 90_000 })).toBe(true);
  const dead = {
    ...asking,
    claim: { id: "c", at: "2026-11-15T19:00:01.000Z", process: { ...self(), start_ticks: 1 } },
  };
  expect(isDue(dead, summary({ id: "b" }), TIMES)).toBe(true);
});
