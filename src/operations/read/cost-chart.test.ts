import { expect, it } from "vitest";
import type { CostBucket } from "../../core/cost-record.ts";
import { costChart } from "./cost-chart.ts";

const HOUR_MS = 3_600_000;
const MIDNIGHT = new Date(2026, 10, 19).getTime();
const NOON = MIDNIGHT + 12 * HOUR_MS;
const plain = { color: false, width: 60, fit: true };

function bucket(hour: number, of: string, cost_usd: number, more: Partial<CostBucket> = {}): CostBucket {
  const since = new Date(MIDNIGHT + hour * HOUR_MS).toISOString();
  const until = new Date(MIDNIGHT + (hour + 1) * HOUR_MS).toISOString();
  const tokens = { input: 1, output: 0, cache_read: 0, cache_write: 0 };
  return { since, until, of, tokens, cost_usd, estimated_usd: 0, unpriced_tokens: 0, ...more };
}

it("has a line a stretch, those without spend too, as wide as there is room", () => {
  const text = costChart([bucket(9, "a", 3), bucket(9, "b", 1), bucket(11, "a", 2, { estimated_usd: 1 })], plain, NOON);
  const lines = text.split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^09:00 {2}█+▒+ \$4\.00$/),
    "10:00",
    expect.stringMatching(/^11:00 {2}█+ ~\$2\.00$/),
    "",
    "██ a  ~$5.00",
    "▒▒ b  $1.00",
  ]);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  const bar = (n: number): number => (lines[n]?.match(/[█▒]/g) ?? []).length;
  expect(bar(2)).toBe(Math.round(bar(0) / 2));
});

it("has colours where there are any, and then one fill", () => {
  const text = costChart([bucket(9, "a", 3), bucket(9, "b", 1)], { ...plain, color: true }, NOON);
  expect(text).toContain("\n11:00\n");
  expect(text.replaceAll("\u001b", "^")).toMatch(/\^\[36m█+\^\[0m\^\[33m█+\^\[0m \$4\.00/);
  expect(text).not.toContain("▒");
});

it("says unknown, never 0, of what has no price, and draws no correction downwards", () => {
  const text = costChart(
    [bucket(9, "a", 0, { unpriced_tokens: 7 }), bucket(10, "b", -1), bucket(11, "b", 2)],
    plain,
    NOON,
  );
  expect(text).toMatch(/^09:00 +unknown$/m);
  expect(text).toMatch(/^10:00 +-\$1\.00$/m);
  expect(text).toMatch(/^██ b {2}\$1\.00$/m);
  expect(costChart([], plain, NOON)).toBe("Nothing was spent in this time.");
});
