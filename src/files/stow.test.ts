import { describe, expect, it } from "vitest";
import { facts } from "../../test/support/facts.ts";
import type { CleanupFact, FileKind, TrackedFile } from "../core/types.ts";
import {
  type Asked,
  cleanupFact,
  cleanupPlan,
  fileReport,
  fileSteps,
  isCleanedUp,
  stowsUnasked,
  unpacked,
} from "./cleanup-plan.ts";

const AT = "2026-01-02T03:04:05.000Z";
const ended = { intent: {}, claim: { by: "keeper" }, start: {}, done: { verified: true } };
const cleaned = (more: Partial<CleanupFact> = {}): object => ({
  cleanup: { files: [], freed_bytes: 0, at: AT, ...more },
});
const failure = (path: string): object => ({ path, step: "archive", error: "no", tries: 1, since: AT, at: AT });

describe("whether files are stowed", () => {
  it.each([
    ["auto", undefined, null, false],
    ["auto", {}, null, false],
    ["auto", {}, "working", false],
    ["auto", undefined, "completed", true],
    ["auto", {}, "failed", true],
    ["archive", undefined, null, false],
    ["archive", {}, null, true],
    ["archive", undefined, "error", true],
    ["keep", {}, "completed", false],
    ["keep", undefined, "terminated", false],
  ] as const)("R-004.5: nobody says so, stop_files %s, stopped %j, said %s: %s", (setting, stop, said, expected) => {
    expect(stowsUnasked(setting, facts({ ...ended, stop }), said)).toBe(expected);
  });

  const plan = (given: object, asked: Asked) => {
    const { stows, packs, touches } = cleanupPlan(facts(given), asked, 1000);
    return [stows, packs, touches];
  };
  it.each([
    ["R-002.3: it is asked for", ended, { stow: true }, [true, false, true]],
    ["R-002.3: also of what was cleaned up", { ...ended, ...cleaned() }, { stow: true }, [true, false, true]],
    ["R-002.3: a purge deletes all of it", ended, { stow: true, purge: true }, [false, false, true]],
    ["R-004.1: not without proof", { ...ended, done: { verified: false } }, { stow: true }, [false, false, false]],
    [
      "R-002.19: a report that could not be moved is tried again",
      { ...ended, ...cleaned({ failures: [failure("/t/progress/a_progress.jsonl")] as never }) },
      { retry: true },
      [true, true, true],
    ],
    [
      "R-002.19: a log that could not be packed is packed, no more",
      { ...ended, ...cleaned({ failures: [failure("/t/logs/a_stream.jsonl")] as never }) },
      { retry: true },
      [false, true, true],
    ],
  ])("%s", (_, given, asked: Asked, expected) => expect(plan(given, asked)).toEqual(expected));

  it("R-004.6: asked for it is done once more, and gives the same", () => {
    expect(isCleanedUp(facts({ ...ended, ...cleaned() }), { stow: true })).toBe(false);
    expect(isCleanedUp(facts({ ...ended, ...cleaned() }), { stow: false })).toBe(true);
  });
});

describe("what becomes of them", () => {
  const tracked: TrackedFile[] = (
    [
      ["prompt", "/t/agent_prompt_a.txt"],
      ["log", "/t/logs/a_stream.jsonl"],
      ["deploy", "/t/logs/deploy_a.json"],
      ["progress", "/t/progress/a_progress.jsonl"],
    ] as [FileKind, string][]
  ).map(([kind, path]) => ({ kind, path, bytes: 5, created_at: null, sha256: null }));
  const free = (paths: string[]) => paths.map(() => "free" as const);

  it("R-002.3: what only the start has needed is deleted, and the rest left to be moved", () => {
    const steps = fileSteps(tracked, facts(ended), cleanupPlan(facts(ended), { stow: true }, 1000), free);
    expect(steps.map(({ kind, deletes = false }) => [kind, deletes])).toEqual([
      ["prompt", true],
      ["log", false],
      ["deploy", true],
      ["progress", false],
    ]);
  });

  it("R-002.19: what could not be deleted is to be deleted, what could not be moved to be archived", () => {
    const asked = cleanupPlan(facts(ended), { stow: true }, 1000);
    const files = tracked.map(({ path }) => fileReport(path, "failed", 5, "no"));
    const { failures } = cleanupFact(asked, undefined, null, files, AT);
    expect(failures?.map(({ step }) => step)).toEqual(["delete", "archive", "delete", "archive"]);
  });

  it("R-000.20: an empty log that was stowed stays so when it is old enough to be packed", () => {
    const at = "/t/archive/a_stream.1.jsonl";
    expect(unpacked(at, `${at}.zst`, 0, () => false)?.action).toBe("archived");
    expect(unpacked("/t/logs/a_stream.jsonl", `${at}.zst`, 0, () => false)?.action).toBe("kept");
  });
});
