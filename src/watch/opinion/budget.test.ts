import fc from "fast-check";
import { expect, it } from "vitest";
import { reserve, type Spent, settle, tokensLeft } from "./budget.ts";

const HOUR = 3_600_000;

it("in no hour more is spent than allowed, whatever is asked for, settled, lost or repeated", () => {
  const call = fc.record({ wait: fc.nat(HOUR), want: fc.nat(60), cost: fc.option(fc.nat(60)) });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60 }), fc.integer({ min: 1, max: 100 }), (calls, most) => {
      let [spent, now, n]: [Spent[], number, number] = [[], 1_000_000, 0];
      const all: { at: number; tokens: number }[] = [];
      for (const { wait, want, cost } of calls) {
        now += wait;
        const id = String(n++);
        const next = reserve(spent, { id, atMs: now, tokens: want }, most);
        if (next === null) continue;
        // A call costs what it reserved at the most; null is one whose end nobody saw.
        const tokens = Math.min(want, cost ?? want);
        spent = settle(next, id, cost === null ? null : tokens);
        all.push({ at: now, tokens });
      }
      for (const { at } of all) {
        const hour = all.filter((one) => one.at >= at && one.at < at + HOUR);
        expect(hour.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(most);
      }
    }),
  );
});

it("a clock that is set back frees nothing and holds nothing for ever", () => {
  const spent = [{ id: "a", atMs: 10 * HOUR, tokens: 80 }];
  expect(tokensLeft(spent, 100, HOUR)).toBe(20);
  const kept = reserve(spent, { id: "b", atMs: HOUR, tokens: 5 }, 100) ?? [];
  expect(tokensLeft(kept, 100, 2 * HOUR)).toBe(100);
});
