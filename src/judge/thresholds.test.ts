import { expect, it } from "vitest";
import { MidwatchError } from "../core/errors.ts";
import { thresholdsFrom } from "./thresholds.ts";

function refused(given: unknown): string {
  try {
    thresholdsFrom(given);
  } catch (error) {
    if (error instanceof MidwatchError) return `${error.code} ${error.message} ${error.hint}`;
  }
  throw new Error("was not refused");
}

it("takes other thresholds, one level or both", () => {
  expect(thresholdsFrom(undefined)).toEqual({});
  expect(thresholdsFrom({ no_news: { alert: 9 }, repeat: { watch: "never", alert: "never" } })).toEqual({
    no_news: { watch: 6, alert: 9 },
    repeat: { watch: Infinity, alert: Infinity },
  });
});

it("refuses what is not known, with the nearest name, and what could never work", () => {
  expect(refused({ no_new: {} })).toMatch(/^BAD_CONFIG .*"no_new" in rules is not known\. Did you mean no_news\?/);
  expect(refused({ repeat: { alrt: 3 } })).toMatch(/"alrt" in rules\.repeat is not known\. Did you mean alert\?/);
  expect(refused({ same_error: { alert: 25 } })).toContain("counts to 24 at most");
  expect(refused({ repeat: { watch: 9 } })).toContain("watch (9) is above alert (4)");
  for (const value of [0, -1, Number.NaN, "3", null, {}])
    expect(refused({ repeat: { alert: value } })).toContain("repeat");
  for (const given of [[], "x", null, { repeat: 3 }]) expect(refused(given)).toContain("not an object");
});

it("a rule of an older release in a configuration means nothing and stops nobody", () => {
  expect(thresholdsFrom({ mistakes: { alert: 21 }, error_streak: { watch: "never" }, repeat: { alert: 5 } })).toEqual({
    repeat: { watch: 3, alert: 5 },
  });
});
