import { describe, expect, it } from "vitest";
import { isTerminal, statusWord, TERMINAL } from "./phase.ts";
import type { Outcome, Phase, StatusWord } from "./types.ts";

type Case = [Phase, Outcome | null, string | null, StatusWord];

const CASES: Case[] = [
  ["intended", null, null, "queued"],
  ["launching", null, null, "queued"],
  ["running", null, null, "running"],
  ["running", null, "working", "running"],
  ["running", null, "blocked", "blocked"],
  ["running", null, "completed", "running"],
  ["stopping", null, "failed", "running"],
  ["exited", "completed", null, "running"],
  ["drained", "completed", null, "completed"],
  ["archived", "completed", "working", "completed"],
  ["archived", "completed", "completed", "completed"],
  ["drained", "completed", "failed", "failed"],
  ["drained", "completed", "error", "error"],
  ["drained", "stopped", null, "terminated"],
  ["drained", "stopped", "blocked", "terminated"],
  ["archived", "stopped", "completed", "completed"],
  ["archived", "stopped", "terminated", "terminated"],
  ["drained", "failed", null, "failed"],
  ["drained", "failed", "completed", "failed"],
  ["launch_failed", "failed", null, "failed"],
  ["launch_failed", "stopped", null, "terminated"],
  ["drained", "limit", "completed", "terminated"],
  ["drained", "lost", null, "error"],
  ["drained", null, "completed", "error"],
  ["lost", "lost", null, "error"],
  ["stuck", null, "completed", "error"],
];

describe("status", () => {
  it.each(CASES)("R-002.4: %s, outcome %s, said %s: %s", (phase, outcome, said, word) => {
    expect(statusWord({ phase, outcome }, said)).toBe(word);
  });

  it("R-004.5: four words say that an agent is done", () => {
    expect(TERMINAL.every((word) => isTerminal(word))).toBe(true);
    for (const other of ["working", "blocked", "done", "", null, undefined]) expect(isTerminal(other)).toBe(false);
  });
});
