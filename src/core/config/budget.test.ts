import { expect, it } from "vitest";
import { amountText, budgetsFrom, parseAmount, parseOn, parsePeriod } from "./budget.ts";

it.each([
  [5, "usd", 5],
  [0.05, "usd", 0.05],
  [0.0000001e2, "usd", 0.00001],
  ["5", "usd", 5],
  ["5 USD", "usd", 5],
  ["5USD", "usd", 5],
  ["0.50 usd", "usd", 0.5],
  ["$0.50", "usd", 0.5],
  ["3 dollars", "usd", 3],
  ["1k USD", "usd", 1000],
  ["2M tokens", "tokens", 2_000_000],
  ["2 M tokens", "tokens", 2_000_000],
  ["1.5M tokens", "tokens", 1_500_000],
  ["500k tok", "tokens", 500_000],
  ["1_000_000 tokens", "tokens", 1_000_000],
  ["1 token", "tokens", 1],
])("%j is %s %d", (given, unit, most) => expect(parseAmount(given)).toEqual({ unit, most }));

it.each([
  [-5, "below zero"],
  ["-5 USD", "below zero"],
  ["$-5", "below zero"],
  [0, "is nothing"],
  ["0 tokens", "is nothing"],
  [Number.NaN, "not an amount"],
  [Number.POSITIVE_INFINITY, "not an amount"],
  ["NaN", "not an amount"],
  ["Infinity USD", "not an amount"],
  ["1e9", "not an amount"],
  ["five", "not an amount"],
  ["", "not an amount"],
  [null, "not an amount"],
  [[5], "not an amount"],
  ["5 EUR", "not in dollars or tokens"],
  ["$5 tokens", "not in dollars or tokens"],
  ["5M", "of what"],
  ["1.5 tokens", "no whole number"],
  ["5 USD a day", "not an amount"],
])("%j is refused: %s", (given, why) => expect(() => parseAmount(given)).toThrow(why));

it("amounts are said as they are written", () => {
  const said = ["5 USD", "0.05 USD", "0.005 USD", "1.02 USD", "2M tokens", "1500 tokens", "500k tokens"];
  expect(said.map((text) => amountText(parseAmount(text)))).toEqual(said);
});

it("a file holds amounts by period, for labels too, and what follows", () => {
  const usd = (most: number) => ({ unit: "usd", most });
  expect(
    budgetsFrom({
      run: 1,
      tree: { of: "4 USD", on: "hold" },
      day: "5 USD",
      week: { of: "2M tokens" },
      labels: { night: { day: 2, on: "tell" } },
    }),
  ).toEqual([
    { label: null, period: "run", ...usd(1), on: "stop" },
    { label: null, period: "tree", ...usd(4), on: "hold" },
    { label: null, period: "day", ...usd(5), on: "hold" },
    { label: null, period: "week", unit: "tokens", most: 2_000_000, on: "hold" },
    { label: "night", period: "day", ...usd(2), on: "tell" },
  ]);
  expect(budgetsFrom({ on: "hold", run: 1, day: 2 }).map(({ on }) => on)).toEqual(["stop", "hold"]);
  expect(budgetsFrom({ on: "stop", day: 2 }).map(({ on }) => on)).toEqual(["stop"]);
  expect(budgetsFrom(undefined)).toEqual([]);
});

it.each([
  [5, "is not an object"],
  [{ dya: 5 }, '"dya" is not a period'],
  [{ day: -1 }, "-1 is below zero"],
  [{ day: { of: 5, on: "hodl" } }, '"hodl" is not a way to act'],
  [{ day: { off: 5 } }, '"off" is not a part'],
  [{ day: {} }, "is not an amount"],
  [{ run: { of: 5, on: "hold" } }, "cannot be held back"],
  [{ on: "never", day: 1 }, '"never" is not a way'],
  [{ labels: { night: 5 } }, "label night is not an object"],
  [{ labels: [] }, "labels of budget is not an object"],
])("%j is refused: %s", (given, why) => {
  expect(() => budgetsFrom(given)).toThrow(expect.objectContaining({ code: "BAD_CONFIG" }));
  expect(() => budgetsFrom(given)).toThrow(why);
});

it("a mistyped word is answered with the nearest", () => {
  expect(() => parsePeriod("dai")).toThrow(expect.objectContaining({ hint: "Did you mean day?" }));
  expect(() => parsePeriod("month")).toThrow(expect.objectContaining({ hint: "There are: run, tree, day, week." }));
  expect(() => parseOn("day", "halt")).toThrow(expect.objectContaining({ code: "USAGE" }));
});
