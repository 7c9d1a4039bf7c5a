import { expect, it } from "vitest";
import type { Budget } from "../core/config/budget.ts";
import type { AgentId } from "../core/ids.ts";
import {
  type Above,
  type BudgetState,
  countsTo,
  headOf,
  heldBy,
  raiseCommand,
  reached,
  type Spender,
  stateOf,
  stopsOf,
  toldOf,
  whyHeld,
  whyStopped,
} from "./budget-plan.ts";
import { windowOf } from "./window.ts";

const ZONE = "Europe/Berlin";
const NOW = Date.parse("2026-11-19T20:00:00Z");

function budget(more: Partial<Budget> = {}): Budget {
  const usual = { reach: "workspace", label: null, period: "day", unit: "usd", most: 1, on: "hold" } as const;
  return { ...usual, zone: ZONE, from: "set", ...more };
}

function state(spent: number, more: Partial<Budget> = {}, of: string | null = null, estimated = 0): BudgetState {
  const made = budget(more);
  const { period, unit } = made;
  const window = period === "day" || period === "week" ? windowOf(period, NOW, ZONE) : null;
  const sum = { usd: unit === "usd" ? spent : 0, tokens: unit === "usd" ? 0 : spent };
  return stateOf(made, { ...sum, estimated_usd: estimated, unpriced: 0 }, window, of);
}

const above = (agent: string, ...labels: string[]): Above => ({ agent: agent as AgentId, labels });
/** Itself first. */
const spender = (...line: Above[]): Spender => ({ agent: line[0]?.agent as AgentId, run: 1, line });

const lone = spender(above("a"));
const night = spender(above("n", "night"));
const child = spender(above("c"), above("b", "night"), above("a"));

it("percent are whole ones, and all of it is a hundred", () => {
  const percents = [0, 0.499, 0.5, 0.7999, 0.8, 0.9999, 1, 1.02, 100].map((spent) => state(spent).percent);
  expect(percents).toEqual([0, 49, 50, 79, 80, 99, 100, 102, 10000]);
  // Ten times ten cents are a little less than a dollar.
  expect(state([...Array(10)].reduce((sum) => sum + 0.1, 0)).percent).toBe(100);
});

it("the tree of an agent is counted from the top, of a label from the topmost that has it", () => {
  expect([headOf(child.line, null), headOf(child.line, "night"), headOf(lone.line, "night")]).toEqual([
    "a",
    "b",
    undefined,
  ]);
});

it.each<[string, BudgetState, Spender, boolean]>([
  ["a day counts every run", state(0), lone, true],
  ["a day of a label those that have it", state(0, { label: "night" }), night, true],
  ["and no others", state(0, { label: "night" }), lone, false],
  ["nor those whose parent has it", state(0, { label: "night" }), child, false],
  ["a run counts itself", state(0, { period: "run" }, "a.1"), lone, true],
  ["and no other", state(0, { period: "run" }, "b.1"), lone, false],
  ["of a label only when it has it", state(0, { period: "run", label: "night" }, "a.1"), lone, false],
  ["a tree counts all below its top", state(0, { period: "tree" }, "a"), child, true],
  ["not what belongs to another", state(0, { period: "tree" }, "x"), child, false],
  ["a tree of a label counts what is below that", state(0, { period: "tree", label: "night" }, "b"), child, true],
  ["but not what is above it", state(0, { period: "tree", label: "night" }, "b"), lone, false],
])("%s", (_, one, who, counts) => expect(countsTo(one, who)).toBe(counts));

const day = (spent: number, more: Partial<Budget> = {}) => state(spent, more);
const week = (spent: number, more: Partial<Budget> = {}) => state(spent, { period: "week", ...more });

it.each<[string, BudgetState[], Spender, string | undefined]>([
  ["nothing holds what is not passed", [day(0.99), week(0.5)], lone, undefined],
  ["a passed day holds", [day(1), week(0.5)], lone, "day"],
  ["of two the one that opens last", [day(1.5), week(1.5)], lone, "week"],
  ["whatever their order", [week(1.5), day(1.5)], lone, "week"],
  ["a tree never opens by itself", [week(2), state(2, { period: "tree", on: "hold" }, "a")], child, "tree"],
  ["what would be stopped is not begun", [day(2, { on: "stop" })], lone, "day"],
  ["what is only told holds nobody", [day(2, { on: "tell" })], lone, undefined],
  ["another label holds nobody", [day(2, { label: "night" })], lone, undefined],
  ["its own does", [day(2, { label: "night" })], night, "day"],
  ["a run that begins has spent nothing yet", [state(2, { period: "run", on: "stop" }, "a.1")], lone, undefined],
])("held: %s", (_, states, who, period) => expect(heldBy(states, who)?.budget.period).toBe(period));

it("stopped are all that count to a passed budget, each with the narrowest reason", () => {
  const stops = { on: "stop" } as const;
  const tree = state(2, { period: "tree", ...stops }, "a");
  const run = state(2, { period: "run", ...stops }, "c.1");
  const names = (states: BudgetState[]): string[] =>
    stopsOf(states, [lone, night, child]).map(({ one, state }) => `${one.agent} ${state.budget.period}`);
  expect(names([day(2)])).toEqual([]);
  expect(names([day(2, { on: "tell" })])).toEqual([]);
  expect(names([day(0.99, stops)])).toEqual([]);
  expect(names([day(2, stops)])).toEqual(["a day", "n day", "c day"]);
  expect(names([day(2, { label: "night", ...stops })])).toEqual(["n day"]);
  expect(names([day(2, stops), tree, run])).toEqual(["a tree", "n day", "c run"]);
});

it("what is only told of is shown with the runs that count to it", () => {
  expect(toldOf([day(2, { on: "tell" })], lone)?.budget.period).toBe("day");
  expect(toldOf([day(2), day(0.5, { on: "tell" })], lone)).toBeUndefined();
});

it("parts are told once a window and amount, each under its own name", () => {
  const keys = (one: BudgetState): number[] => reached(one).map(({ percent }) => percent);
  expect([0.2, 0.5, 0.8, 0.99, 1, 7].map((spent) => keys(day(spent)))).toEqual([
    [],
    [50],
    [50, 80],
    [50, 80],
    [50, 80, 100],
    [50, 80, 100],
  ]);
  const first = (one: BudgetState): string | undefined => reached(one)[0]?.key;
  const names = [
    first(day(1)),
    first(week(1)),
    first(day(2, { most: 2 })),
    first(day(1, { label: "night" })),
    first(day(1, { reach: "user" })),
    first(day(1, { unit: "tokens" })),
    first(state(1, { period: "run" }, "a.1")),
    first(state(1, { period: "run" }, "a.2")),
    first(state(1, { period: "tree" }, "a")),
    first(
      stateOf(
        budget(),
        { usd: 1, estimated_usd: 0, tokens: 0, unpriced: 0 },
        windowOf("day", NOW + 86_400_000, ZONE),
        null,
      ),
    ),
    reached(day(1))[1]?.key,
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(first(day(1.5))).toBe(first(day(1)));
});

it.each<[BudgetState, string]>([
  [state(1.02), "waits: the day's budget of 1 USD is spent (1.02); opens 00:00; or: midwatch budget raise day 5"],
  [
    state(20.3, { period: "week", most: 20, reach: "user" }, null, 1),
    "waits: the week's budget of 20 USD for all workspaces is spent (~20.3); opens Mon 00:00; or: midwatch budget raise week 50 --everywhere",
  ],
  [
    state(2_100_000, { unit: "tokens", most: 2_000_000, label: "night" }),
    "waits: the day's budget of 2M tokens for the label night is spent (2.1M); opens 00:00; or: midwatch budget raise day 5M tokens --label night",
  ],
  [
    state(5.5, { period: "tree", most: 5, label: "late shift", reach: "user" }, "lead-1"),
    "waits: the tree's budget of 5 USD for lead-1 and those below it, the label late shift, all workspaces is spent (5.5); or: midwatch budget raise tree 20 --label 'late shift' --everywhere",
  ],
])("says why it waits, and what to type", (one, text) => expect(whyHeld(one, NOW)).toBe(text));

it("says why it was stopped, and how far over", () => {
  expect(whyStopped(state(1.02, { on: "stop" }))).toBe("the day's budget of 1 USD is spent (1.02), 0.02 USD over");
  expect(whyStopped(state(1, { on: "stop" }))).toBe("the day's budget of 1 USD is spent (1)");
});

it("suggests a round amount of twice what is spent, or more", () => {
  const raised = [0.01, 0.3, 1, 1.3, 2, 2.6, 5, 7, 60, 99].map((spent) => raiseCommand(state(spent, { most: spent })));
  expect(raised.map((text) => Number(text.split(" ").at(-1)))).toEqual([0.02, 1, 2, 5, 5, 10, 10, 20, 200, 200]);
});
