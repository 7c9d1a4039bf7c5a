import { expect, it } from "vitest";
import { aboutFor, limitWords, stateOf } from "./state-words.ts";

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
