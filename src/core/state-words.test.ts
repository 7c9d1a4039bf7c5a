import { expect, it } from "vitest";
import { aboutFor, limitWords, stateOf, sureWords } from "./state-words.ts";

const run = { outcome: null, hold: null, exit: { code: null, signal: null }, alive: null, queued: false } as const;

it.each<[Parameters<typeof stateOf>[0], string]>([
  [{ ...run, phase: "intended", queued: true }, "queued"],
  [{ ...run, phase: "intended" }, "starting"],
  [{ ...run, phase: "lost", outcome: "lost", alive: [{ pid: 7, name: "node" }] }, "lost, 1 alive"],
  [{ ...run, phase: "drained", outcome: "limit", exit: { code: null, signal: "SIGINT" } }, "limit reached"],
  [{ ...run, phase: "drained", outcome: "failed", exit: { code: 2, signal: null } }, "failed (exit 2)"],
  [{ ...run, phase: "drained", outcome: "failed", exit: { code: 0, signal: null } }, "failed"],
  [{ ...run, phase: "drained", outcome: "completed", exit: { code: 0, signal: null } }, "completed"],
  [{ ...run, phase: "launch_failed", outcome: "failed" }, "did not start"],
])("says the state of a run in a word: %j", (record, word) => expect(stateOf(record).word).toBe(word));

it("says durations and limits as people do", () => {
  expect([45_000, 540_000, 7_500_000, 36_000_000, 259_200_000].map(aboutFor)).toEqual([
    "45 s",
    "9 min",
    "2 h 5 min",
    "10 h",
    "3 d",
  ]);
  expect(limitWords("wall", "20 s")).toBe("Stopped: 20 s time limit reached.");
});

it("says how far a verdict can be trusted, and whose word it is", () => {
  const by = (verdict_source: string, confidence_score: number, confidence_cases: number, level = "alert"): string =>
    sureWords({ verdict_source, confidence_score, confidence_cases, level });
  expect(by("rule", 0.9, 48)).toBe("90 % reliable in tests (48 labelled runs), by a rule");
  expect(by("fact", 0.95, 0)).toBe("95 % reliable in tests (assumed), by a fact of the run");
  expect(by("rule+model", 0.86, 59)).toBe("86 % reliable in tests (59 labelled runs), by a rule and a model");
  expect(by("rule", 0.74, 0, "none")).toBe("74 % reliable in tests");
  expect(by("rules", 0, 0, "watch")).toBe("");
});
