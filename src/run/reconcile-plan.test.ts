import { describe, expect, it } from "vitest";
import { facts } from "../../test/support/facts.ts";
import { MidwatchError } from "../core/errors.ts";
import type { Observed } from "../facts/observe.ts";
import type { Listed } from "../registry/registry.ts";
import { afterError, isAdoptable, isForgotten, isLeft, settling, unbornStep } from "./reconcile-plan.ts";

const intent = { agent: "a" };
const claim = { by: "keeper" };
const givenUp = { by: "launcher" };
const running = { intent, claim, start: {}, keeperLives: true };
const lost = { ...running, keeperLives: false };
const ended = { ...lost, done: { verified: true, log_bytes: 10 } };
const listed = (run: object): Listed => ({ agent: { id: "a" }, run: { agent: "a", run: 1, ...run } }) as Listed;

it.each([
  ["R-004.3: its folder is gone", {}, listed({ phase: "running" }), true],
  ["its launcher is at it", {}, listed({ phase: "intended", created_mono_ms: 0 }), false],
  ["its launch is overdue", {}, listed({ phase: "intended", created_mono_ms: -10_000 }), true],
  ["nobody knows it", {}, undefined, false],
  ["its keeper lives", { claim, keeperLives: true }, listed({ phase: "running" }), false],
  ["its keeper is gone, and its intent too", { claim }, listed({ phase: "running" }), true],
  ["it is over", { claim, done: {} }, listed({ phase: "running" }), false],
  ["it has an intent", { intent }, listed({ phase: "running" }), false],
])("forgotten: %s", (_, given, row, expected) => expect(isForgotten(facts(given), row, 1)).toBe(expected));

it("forgotten: one whose end is asked for may have been started, though nobody was told", () =>
  expect(isForgotten(facts({}), listed({ phase: "intended", created_mono_ms: 0 }))).toBe(true));

describe("a run without an intent", () => {
  const now = 1_000_000;
  const row = (phase: string, sinceMs: number | null) =>
    listed({ phase, created_mono_ms: sinceMs === null ? null : now - sinceMs }).run;
  it.each([
    ["has one", { intent }, undefined, undefined, undefined],
    ["is its keeper's", { claim }, row("intended", 60_000), undefined, undefined],
    ["R-004.11: was given up", { claim: givenUp }, row("intended", 0), undefined, "drop"],
    ["R-004.11: its launcher is at it", {}, row("intended", 10_000), undefined, "wait"],
    ["R-004.11: its launcher has died", {}, row("intended", 10_001), undefined, "give up"],
    ["R-004.11: of another boot", {}, row("intended", -60_000), undefined, "give up"],
    ["R-004.11: nobody knows since when", {}, row("intended", null), undefined, "give up"],
    ["R-004.11: only its mark is there, just made", {}, undefined, 10_000, "wait"],
    ["R-004.11: only its mark is there, for long", {}, undefined, 10_001, "give up"],
    ["R-004.11: not even its mark", {}, undefined, undefined, "wait"],
    ["R-004.3: was started, and its folder deleted", {}, row("running", 10_001), undefined, "drop if gone"],
    ["R-004.3: just now", {}, row("running", 10_000), undefined, "wait"],
  ])("%s", (_, given, known, markedMs, expected) => {
    const marked = (): number | undefined => (markedMs === undefined ? undefined : now - markedMs);
    expect(unbornStep(facts(given), known, now, marked)).toBe(expected);
  });
});

it.each([
  ["R-004.5: ended, and there is time", ended, false, 100, undefined, false],
  ["R-004.5: ended, and the time is spent", ended, false, 101, undefined, true],
  ["R-004.5: the caller asked about it", ended, true, 101, undefined, false],
  ["R-004.5: its log is large", { ...ended, done: { log_bytes: (16 << 20) + 1 } }, false, 0, undefined, true],
  ["R-004.5: large, for one who has time", { ...ended, done: { log_bytes: (16 << 20) + 1 } }, false, 0, true, false],
  ["it lives", running, false, 101, undefined, false],
  ["it never started", { intent, claim: givenUp }, false, 0, undefined, false],
])("left for later: %s", (_, given, asked, spentMs, large, expected) =>
  expect(isLeft(facts(given), asked, spentMs, large)).toBe(expected),
);

it.each([
  ["R-004.8: another has it in hands", new MidwatchError("LOCK_BUSY", ""), ended, { left: true }],
  ["R-004.8: no room to write", new MidwatchError("DISK_FULL", ""), ended, { left: true }],
  ["R-004.8: and it lives", new MidwatchError("NOT_WRITABLE", ""), running, { left: false }],
  ["R-004.8: its folder is no folder of ours", new MidwatchError("UNSAFE_PATH", ""), ended, { left: false }],
  ["another error of ours", new MidwatchError("NO_RESOURCES", ""), ended, undefined],
  ["an error of nobody", new TypeError(), ended, undefined],
])("an error of one run: %s", (_, error, given, expected) => expect(afterError(error, facts(given))).toEqual(expected));

it.each([
  ["R-000.6: its keeper is gone", lost, false, false, true],
  ["its keeper lives", running, false, false, false],
  ["it is over", ended, false, false, false],
  ["another has taken it up", lost, true, false, false],
  ["it is in another pid namespace", lost, false, true, false],
  ["it has no claim", { intent }, false, false, false],
  ["its claim cannot be read, and it was started", { intent, start: {} }, false, false, true],
  ["it was given up", { intent, claim: givenUp }, false, false, false],
])("adoptable: %s", (_, given, adopted, elsewhere, expected) =>
  expect(isAdoptable(facts(given), adopted, elsewhere)).toBe(expected),
);

describe("what the registry is told", () => {
  const observed = (agent: string, phase: string, left = false): Observed =>
    ({ task: `T-${agent}`, agent, run: 1, row: { phase }, left }) as unknown as Observed;
  const told = (one: Observed, before: string | undefined, inRegistry = false) => {
    const known = new Map(before === undefined ? [] : [[`${one.agent}.1`, listed({ phase: before })]]);
    const { put, over, views } = settling([one], known, () => inRegistry);
    return [put.length, over.length, [...views]];
  };
  it.each([
    ["nothing new", observed("a", "running"), "running", false, [0, 0, []]],
    ["R-004.5: it has ended", observed("a", "drained"), "running", false, [1, 1, ["T-a"]]],
    ["R-004.23: it was not known", observed("a", "running"), undefined, false, [1, 0, ["T-a"]]],
    ["R-000.6: a lost one each time", observed("a", "lost"), "lost", false, [1, 0, ["T-a"]]],
    [
      "R-004.5: what is left counts as ended, and keeps its mark",
      observed("a", "drained", true),
      "running",
      false,
      [1, 0, []],
    ],
    ["R-004.5: left, and not known", observed("a", "drained", true), undefined, false, [1, 0, []]],
    ["R-004.5: left, and told before", observed("a", "drained", true), undefined, true, [0, 0, []]],
  ])("%s", (_, one, before, inRegistry, expected) => expect(told(one, before, inRegistry)).toEqual(expected));

  it("a view is written once for all agents of a task", () => {
    const two = [observed("a", "drained"), { ...observed("b", "running"), task: "T-a" } as Observed];
    const { put, over, views } = settling(two, new Map(), () => false);
    expect([put, over, [...views]]).toEqual([two, [two[0]], ["T-a"]]);
  });
});
