import { expect, it } from "vitest";
import type { AgentId } from "../../core/ids.ts";
import { Burn, fitting, liveLine, type Said, type Waited } from "./live-text.ts";

const NOW = Date.parse("2026-11-19T21:10:00Z");
const run: Waited = {
  agent: "fix-tests-210000-aaaaaa" as AgentId,
  phase: "running",
  outcome: null,
  hold: null,
  exit: { code: null, signal: null },
  alive: null,
  queued: false,
  started_at: "2026-11-19T21:08:00Z",
  last_output_at: "2026-11-19T21:09:57Z",
};
const said: Said = {
  on_track_status: "on_track",
  current_activity: "Runs\nnpm test",
  tokens: { input: 12_000, output: 300, cache_read: 0, cache_write: 45 },
  cost_usd: 0.34,
  cost_estimated: true,
};

it("tells state, verdict, tokens, cost, rate, times and activity in one line", () => {
  expect(liveLine(run, said, 2.1, NOW, 200)).toBe(
    "fix-tests-210000-aaaaaa · running · on_track · 12.3k tokens · ~$0.34 ($2.10/h) · for 2m · last output 3s · Runs npm test",
  );
  expect(liveLine(run, { ...said, cost_estimated: false }, null, NOW, 200)).toContain(" $0.34 · for ");
});

it("tells nothing that nobody knows, and is never wider than the terminal", () => {
  const line = liveLine({ ...run, queued: true, started_at: null, last_output_at: null }, null, null, NOW, 80);
  expect(line).toBe("fix-tests-210000-aaaaaa · queued · - · for - · last output -");
  for (const width of [1, 10, 40]) expect(liveLine(run, said, 1, NOW, width).length).toBeLessThanOrEqual(width);
});

it("counts the rest where there is no room for a line each", () => {
  const lines = ["a", "b", "c", "d"];
  expect(fitting(lines, 5)).toEqual(lines);
  expect(fitting(lines, 4)).toEqual(["a", "b", "and 2 more"]);
  expect(fitting(lines, 1)).toEqual(["and 4 more"]);
});

it("knows a rate when it has seen enough, of the last minutes only", () => {
  const burn = new Burn();
  expect(burn.rate("a", null, 0)).toBeNull();
  expect(burn.rate("a", 1, 0)).toBeNull();
  expect(burn.rate("a", 1.5, 5000)).toBeNull();
  expect(burn.rate("a", 2, 36_000)).toBeCloseTo(100);
  expect(burn.rate("b", 2, 36_000)).toBeNull();
  expect(burn.rate("a", 2, 400_000)).toBeNull();
  expect(burn.rate("a", 2, 420_000)).toBe(0);
});
