import { expect, it } from "vitest";
import { type Asked, type Budget, budgetsFrom } from "../core/config/budget.ts";
import { type SetEntry, widerBudgets, workspaceBudgets } from "./in-force.ts";

const ZONE = "Europe/Berlin";
const asked = (given: object): Asked[] => budgetsFrom(given);
const set = (period: SetEntry["period"], more: Partial<SetEntry>): SetEntry => {
  return { label: null, period, zone: ZONE, at: "2026-11-19T12:00:00.000Z", ...more };
};
const said = (budgets: readonly Budget[]): string[] =>
  budgets.map(({ label, period, unit, most, on, from }) =>
    [label ?? "", period, most, unit, on, from].join(" ").trim(),
  );

const EARLIER = "2026-11-18T12:00:00.000Z";
const LATER = "2026-11-20T12:00:00.000Z";

it.each<[string, SetEntry[], object | undefined, string, object | undefined, string[]]>([
  ["nothing said is no budget", [], undefined, "", undefined, []],
  ["a trusted file counts", [], { day: 5 }, EARLIER, undefined, ["day 5 usd hold file"]],
  ["a command counts", [set("day", { usd: 3 })], undefined, "", undefined, ["day 3 usd hold set"]],
  [
    "a later command counts against the file",
    [set("day", { usd: 9 })],
    { day: 5 },
    EARLIER,
    undefined,
    ["day 9 usd hold set"],
  ],
  [
    "a file that is trusted later counts against the command",
    [set("day", { usd: 9 })],
    { day: 5 },
    LATER,
    undefined,
    ["day 5 usd hold file"],
  ],
  [
    "what a later file does not say stays",
    [set("week", { usd: 9 })],
    { day: 5 },
    LATER,
    undefined,
    ["week 9 usd hold set", "day 5 usd hold file"],
  ],
  ["off is none, whatever the file says", [set("day", {})], { day: 5 }, EARLIER, undefined, []],
  ["off holds against a file that nobody trusted", [set("day", {})], undefined, "", { day: 1 }, []],
  [
    "a file that nobody trusted counts where there was none",
    [],
    undefined,
    "",
    { day: 1 },
    ["day 1 usd hold untrusted"],
  ],
  ["it makes what was trusted stricter", [], { day: 5 }, EARLIER, { day: 1 }, ["day 1 usd hold untrusted"]],
  [
    "and never milder: an edit that raises it changes nothing",
    [],
    { day: 5 },
    EARLIER,
    { day: 500 },
    ["day 5 usd hold file"],
  ],
  ["nor one that takes it out", [], { day: 5 }, EARLIER, {}, ["day 5 usd hold file"]],
  [
    "nor one that only tells",
    [],
    { day: { of: 5, on: "stop" } },
    EARLIER,
    { day: { of: 5, on: "tell" } },
    ["day 5 usd stop file"],
  ],
  [
    "a lower amount does not make the end softer",
    [],
    { day: { of: 5, on: "stop" } },
    EARLIER,
    { day: { of: 1, on: "tell" } },
    ["day 1 usd stop untrusted"],
  ],
  [
    "a harder end does not raise the amount",
    [],
    { day: 1 },
    EARLIER,
    { day: { of: 5, on: "stop" } },
    ["day 1 usd stop untrusted"],
  ],
  [
    "nothing of it counts against a person's command",
    [set("day", { usd: 9 })],
    undefined,
    "",
    { day: 1 },
    ["day 9 usd hold set"],
  ],
  [
    "dollars and tokens stand side by side",
    [set("day", { usd: 1, tokens: 5 })],
    undefined,
    "",
    undefined,
    ["day 1 usd hold set", "day 5 tokens hold set"],
  ],
  [
    "tokens of an untrusted file stand beside trusted dollars",
    [],
    { day: 5 },
    EARLIER,
    { day: "1k tokens" },
    ["day 5 usd hold file", "day 1000 tokens hold untrusted"],
  ],
  [
    "a label has its own",
    [set("day", { label: "night", usd: 1 })],
    { day: 5, labels: { night: { day: 2 } } },
    EARLIER,
    undefined,
    ["night day 1 usd hold set", "day 5 usd hold file"],
  ],
])("%s", (_, entries, trusted, at, untrusted, budgets) => {
  const file = { trusted: trusted && { asked: asked(trusted), at }, untrusted: untrusted ? asked(untrusted) : [] };
  expect(said(workspaceBudgets(entries, file, ZONE))).toEqual(budgets);
});

it("of a wider one the zone of the person who set it counts", () => {
  const entries = [set("day", { usd: 1, zone: "Asia/Tokyo" }), set("run", { tokens: 10, on: "tell" })];
  expect(widerBudgets(entries, "user")).toEqual([
    { label: null, period: "day", unit: "usd", most: 1, on: "hold", reach: "user", zone: "Asia/Tokyo", from: "set" },
    { label: null, period: "run", unit: "tokens", most: 10, on: "tell", reach: "user", zone: ZONE, from: "set" },
  ]);
});
