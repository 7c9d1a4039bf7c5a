import { describe, expect, it } from "vitest";
import type { Facts } from "./facts.ts";
import { isLaunchOverdue, outcomeOf, phaseOf } from "./state.ts";

const NONE: Facts = {
  intent: undefined,
  claim: undefined,
  start: undefined,
  stop: undefined,
  hold: undefined,
  exit: undefined,
  limit: undefined,
  stuck: undefined,
  done: undefined,
  cleanup: undefined,
  adopter: undefined,
  keeperLives: false,
};
/** Only what the state depends on. */
const facts = (given: object): Facts => ({ ...NONE, ...given }) as Facts;

const intent = { created_mono_ms: 1_000_000 };
const claim = { by: "keeper" };
const givenUp = { by: "launcher" };
const start = { exec_error: null };
const refused = { exec_error: { name: "ENOENT" } };
const stop = { grace_ms: 0 };
const exit = (more: object): object => ({ code: null, signal: null, stop_requested: false, limit: null, ...more });
const done = { verified: true };

describe("what facts mean", () => {
  it.each([
    ["nothing yet", { intent }, false, "intended", null],
    ["claimed", { intent, claim }, true, "launching", null],
    ["started", { intent, claim, start }, true, "running", null],
    ["asked to stop", { intent, claim, start, stop }, true, "stopping", null],
    [
      "main has ended, leftovers are being ended",
      { intent, claim, start, exit: exit({ code: 0 }) },
      true,
      "exited",
      "completed",
    ],
    ["cannot be ended", { intent, claim, start, stop, stuck: {} }, true, "stuck", null],
    ["completed", { intent, claim, start, exit: exit({ code: 0 }), done }, false, "drained", "completed"],
    ["failed", { intent, claim, start, exit: exit({ code: 3 }), done }, false, "drained", "failed"],
    [
      "ended by a signal",
      { intent, claim, start, exit: exit({ signal: "SIGSEGV" }), done },
      false,
      "drained",
      "failed",
    ],
    [
      "stopped, exit 0",
      { intent, claim, start, stop, exit: exit({ code: 0, stop_requested: true }), done },
      false,
      "drained",
      "stopped",
    ],
    [
      "over its limit",
      { intent, claim, start, exit: exit({ signal: "SIGINT", limit: "output" }), done },
      false,
      "drained",
      "limit",
    ],
    ["stopped before the exec", { intent, claim, stop, done }, false, "drained", "stopped"],
    ["exec failed", { intent, claim, start: refused }, true, "launch_failed", "failed"],
    ["exec failed, over", { intent, claim, start: refused, done }, false, "launch_failed", "failed"],
    ["given up", { intent, claim: givenUp }, false, "launch_failed", "failed"],
    ["stopped before it was claimed", { intent, claim: givenUp, stop }, false, "launch_failed", "stopped"],
    ["keeper gone before start.json", { intent, claim }, false, "lost", "lost"],
    ["keeper gone", { intent, claim, start }, false, "lost", "lost"],
    ["keeper gone during a stop", { intent, claim, start, stop }, false, "lost", "lost"],
    [
      "keeper gone after the exit was seen",
      { intent, claim, start, exit: exit({ code: 0 }) },
      false,
      "lost",
      "completed",
    ],
    ["nobody saw the exit: never a success", { intent, claim, start, exit: exit({}), done }, false, "drained", "lost"],
  ])("R-004.21: %s", (_, given, lives, phase, outcome) => {
    const known = facts(given);
    expect([phaseOf(known, lives), outcomeOf(known, phaseOf(known, lives))]).toEqual([phase, outcome]);
  });

  it("a launch is overdue after 10 s without a claim, and never with one", () => {
    const at = (ms: number): number => intent.created_mono_ms + ms;
    expect(isLaunchOverdue(facts({ intent }), at(10_000))).toBe(false);
    expect(isLaunchOverdue(facts({ intent }), at(10_001))).toBe(true);
    expect(isLaunchOverdue(facts({ intent }), at(-60_000))).toBe(true); // Of another boot.
    expect(isLaunchOverdue(facts({ intent, claim }), at(60_000))).toBe(false);
    expect(isLaunchOverdue(facts({}), at(60_000))).toBe(false);
  });
});
