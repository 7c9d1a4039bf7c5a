import { expect, it } from "vitest";
import type { AgentSummary } from "../core/summary.ts";
import { verdictWords } from "./verdict-words.ts";

const SINCE = "2026-11-15T19:00:00.000Z";
const log = { run: 1, line_start: 4, line_end: 11, byte_start: 0, byte_end: 9 };
const told = (more: object): AgentSummary =>
  ({
    instance_id: "a-1",
    on_track_status: "blocked",
    level: "alert",
    cause: "again",
    since: "2026-11-15T19:02:00.000Z",
    resets_at: null,
    idle_duration_seconds: 3,
    cost_usd: 0.52,
    finding: { rule: "again", line: 4, since: SINCE, cost_usd: 0.4 },
    evidence: [{ rule: "again", about: "", value: 4, log, quote: "Bash cat a.ts" }],
    ...more,
  }) as AgentSummary;

it("an alert says what happened, since when, what it has cost, the lines and two things to do", () => {
  expect(verdictWords(told({}), null)).toBe(
    `a-1 is blocked: Same call with the same result 4 times, and nothing changed in between. Since ${SINCE}, $0.12 spent in it. ` +
      '"Bash cat a.ts" (lines 4 to 11). Look: midwatch summary a-1. End it: midwatch stop a-1.',
  );
});

it("one that is over says so, also where something is still worth a look", () => {
  const fine = { on_track_status: "on_track", cause: null, finding: null, evidence: [] };
  const over = "a-1 is on_track: what was told since 2026-11-15T19:02:00.000Z is over (again).";
  expect(verdictWords(told({ ...fine, level: "none" }), told({}))).toBe(over);
  expect(verdictWords(told({ on_track_status: "on_track", level: "watch" }), told({}))).toBe(over);
  expect(verdictWords(told({ ...fine, level: "none" }), null)).toBe("a-1 is on_track");
});
