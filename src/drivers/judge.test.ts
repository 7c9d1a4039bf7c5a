import { describe, expect, it } from "vitest";
import { ending } from "../../test/support/cli/driver.ts";
import type { StreamResult } from "./driver.ts";
import { judgeExit, judgeStream } from "./judge.ts";
import { emptyResult } from "./stream.ts";

const good = { ...emptyResult(), finished: { ok: true, why: null, text: null } };

describe("judge", () => {
  it("puts a limit before a stop, and both before what the CLI says", () => {
    expect(judgeStream(ending(good, { limit: "output", stopRequested: true }))).toEqual({
      outcome: "limit",
      reason: "It reached its output limit.",
    });
    expect(judgeStream(ending(good, { stopRequested: true })).outcome).toBe("stopped");
  });

  it("calls an end that nobody saw lost, and tells what the result said", () => {
    const unseen = (finished: StreamResult["finished"]) =>
      judgeStream(ending({ ...good, finished }, { exit: { code: null, signal: null } }));
    expect(unseen(good.finished)).toEqual({
      outcome: "lost",
      reason: "Its result says completed; nobody saw its exit.",
    });
    expect(unseen({ ok: false, why: "no money", text: null })).toEqual({
      outcome: "lost",
      reason: "Its result says failed (no money); nobody saw its exit.",
    });
    expect(unseen(null)).toEqual({ outcome: "lost", reason: "Nobody saw how it ended." });
  });

  it("calls a failure limit when it was interrupted for one, and leaves a success alone", () => {
    const bad = { ...good, finished: { ok: false, why: "[ede_diagnostic] aborted", text: null } };
    expect(judgeStream(ending(bad, { interrupted: "wall", exit: { code: 1, signal: null } }))).toEqual({
      outcome: "limit",
      reason: "It was interrupted: it passed its wall limit.",
    });
    expect(judgeStream(ending(good, { interrupted: "wall" })).outcome).toBe("completed");
    expect(judgeExit(ending(good, { interrupted: "idle", exit: { code: null, signal: "SIGINT" } })).outcome).toBe(
      "limit",
    );
  });

  it("gives one bounded line without secrets", () => {
    const why = `Incorrect API key: sk-ant-${"a".repeat(40)}\n\nsee ${"x".repeat(1000)}`;
    const { reason } = judgeStream(ending({ ...good, finished: { ok: false, why, text: null } }));
    expect(reason).toMatch(/^Incorrect API key: \[masked\] see x/);
    expect(reason?.length).toBeLessThanOrEqual(400);
  });

  it("takes the line of stderr that speaks of an error, and none of a run that was killed", () => {
    const stderr = "starting\n\u001b[91mError: \u001b[0mno such session\n  try --list\n";
    const cut = emptyResult();
    expect(judgeStream(ending(cut, { exit: { code: 1, signal: null }, stderr })).reason).toMatch(
      /: Error: no such session\.$/,
    );
    expect(judgeStream(ending(cut, { exit: { code: null, signal: "SIGKILL" }, stderr })).reason).not.toMatch(/session/);
  });

  it("does not fail a run in which only some tools were denied", () => {
    expect(judgeStream(ending({ ...good, tools: 2, denied: 1 })).outcome).toBe("completed");
    expect(judgeStream(ending({ ...good, tools: 2, denied: 2 })).outcome).toBe("failed");
  });
});
