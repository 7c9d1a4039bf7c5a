import { describe, expect, it } from "vitest";
import { facts } from "../../test/support/facts.ts";
import { isLaunchOverdue, outcomeOf, phaseOf, reasonOf } from "./state.ts";

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
    [
      "asked to stop because it was over its limit",
      {
        intent,
        claim,
        start,
        stop: { limit: "cost" },
        exit: exit({ signal: "SIGTERM", stop_requested: true }),
        done,
      },
      false,
      "drained",
      "limit",
    ],
    [
      "interrupted by its limit",
      { intent, claim, start, exit: exit({ signal: "SIGINT", interrupted: "wall" }), done },
      false,
      "drained",
      "limit",
    ],
    [
      "interrupted, and completed all the same",
      { intent, claim, start, exit: exit({ code: 0, interrupted: "wall" }), done },
      false,
      "drained",
      "completed",
    ],
    [
      "its stream says more than its exit",
      {
        intent,
        claim,
        start,
        exit: exit({ code: 0 }),
        done,
        cleanup: { files: [], result: { outcome: "failed", reason: "refused" } },
      },
      false,
      "drained",
      "failed",
    ],
    [
      "its log is packed",
      { intent, claim, start, exit: exit({ code: 0 }), done, cleanup: { files: [{ action: "archived" }] } },
      false,
      "archived",
      "completed",
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
  ])("%s", (_, given, lives, phase, outcome) => {
    const known = facts(given);
    expect([phaseOf(known, lives), outcomeOf(known, phaseOf(known, lives))]).toEqual([phase, outcome]);
  });

  const limits = { wall_ms: 60_000, idle_ms: 1000, output_bytes: 2048, tokens: 12_000, cost_usd: 1.5 };
  const over = (limit: string): object => ({ intent: { limits }, claim, start, exit: exit({ limit }), done });
  it.each([
    ["given up", { claim: { ...givenUp, why: "no keeper within 10 s" } }, "no keeper within 10 s"],
    ["exec failed", { claim, start: { exec_error: { what: "exec", name: "ENOENT" } } }, "exec: ENOENT"],
    ["given up and nobody said why", { claim: givenUp }, null],
    ["over its wall limit", over("wall"), "Stopped: 60 s time limit reached."],
    ["over its idle limit", over("idle"), "Stopped: 1 s silence limit reached."],
    ["over its output limit", over("output"), "Stopped: 2.0 KiB output limit reached."],
    ["over its token limit", over("tokens"), "Stopped: 12,000 token limit reached."],
    ["over its cost limit", over("cost"), "Stopped: $1.50 cost limit reached."],
    ["no room on the disk", over("disk"), "Stopped: disk limit reached."],
    ["over a limit that nobody knows any more", { ...over("wall"), intent: undefined }, "Stopped: time limit reached."],
    [
      "stopped, with a reason",
      { claim, start, stop: { reason: "enough" }, exit: exit({ stop_requested: true }), done },
      "enough",
    ],
    ["stopped, without one", { claim, start, exit: exit({ stop_requested: true }), done }, null],
    [
      "interrupted by its keeper",
      { claim, start, exit: exit({ code: 130, interrupted: "wall" }), done },
      "was interrupted: it passed its wall limit",
    ],
    [
      "interrupted by another",
      { claim, start, exit: exit({ code: 130 }), limit: { limit: "cost", reason: "$2 of $1" }, done },
      "was interrupted: it passed its cost limit ($2 of $1)",
    ],
    ["completed after an interruption", { claim, start, exit: exit({ code: 0, interrupted: "wall" }), done }, null],
    [
      "what the stream says",
      {
        claim,
        start,
        exit: exit({ code: 1 }),
        done,
        cleanup: { files: [], result: { outcome: "failed", reason: "no login" } },
      },
      "no login",
    ],
  ])("the reason: %s", (_, given, reason) => {
    const known = facts(given);
    expect(reasonOf(known, phaseOf(known, false))).toBe(reason);
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
