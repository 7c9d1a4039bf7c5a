import { describe, expect, it } from "vitest";
import { facts } from "../../test/support/facts.ts";
import type { CleanupFact, FileKind, FileReport, TrackedFile } from "../core/types.ts";
import {
  type Asked,
  cleanupFact,
  cleanupPlan,
  fileReport,
  fileSteps,
  isArchivable,
  isCleanedUp,
  isDamaged,
  isLog,
  restoredFact,
  unpacked,
  withGone,
  withPacked,
} from "./cleanup-plan.ts";

const AT = "2026-01-02T03:04:05.000Z";
const THEN = "2026-01-01T00:00:00.000Z";
const LATER_MS = 1000;
const ended = { intent: {}, claim: { by: "keeper" }, start: {}, done: { verified: true } };
const unproven = { ...ended, done: { verified: false } };
const cleaned = (more: Partial<CleanupFact> = {}): object => ({
  cleanup: { files: [], freed_bytes: 0, at: THEN, ...more },
});
const failed = (step: string, path = `/${step}`): object => ({
  path,
  step,
  error: "no",
  tries: 2,
  since: THEN,
  at: THEN,
});
const failures = (...steps: string[]): object => cleaned({ failures: steps.map((step) => failed(step)) as never });

describe("what is to be done", () => {
  it.each([
    ["R-004.5: nothing was done yet", {}, {}, false],
    ["R-004.6: all was done", cleaned(), {}, true],
    ["R-004.6: a purge is asked for", cleaned(), { purge: true }, false],
    ["R-000.20: an archive is asked for", cleaned(), { archive: true }, false],
    ["R-002.19: what failed is tried again", cleaned(), { retry: true }, false],
    ["it is to be sealed", cleaned(), { seal: true }, false],
  ])("%s", (_, given, asked: Asked, expected) =>
    expect(isCleanedUp(facts({ ...ended, ...given }), asked)).toBe(expected),
  );

  const plan = (given: object, asked: Asked, archiveAfterMs = LATER_MS) => {
    const { purge, again, packs, touches } = cleanupPlan(facts(given), asked, archiveAfterMs);
    return [purge, [...again], packs, touches];
  };
  it.each([
    ["R-004.5: it has ended: its facts become one file", ended, {}, LATER_MS, [false, [], false, true]],
    ["R-000.20: logs are packed at once", ended, {}, 0, [false, [], true, true]],
    ["R-004.1: without proof nothing is packed", unproven, {}, 0, [false, [], false, false]],
    ["R-004.1: nor when it is asked for", unproven, { archive: true }, 0, [false, [], false, false]],
    ["R-004.1: nor where no keeper ever was", { claim: { by: "launcher" } }, {}, 0, [false, [], false, false]],
    ["R-000.20: archive", { ...ended, ...cleaned() }, { archive: true }, LATER_MS, [false, [], true, true]],
    [
      "R-000.20: what was brought back stays plain",
      { ...ended, ...cleaned() },
      { retry: true },
      0,
      [false, [], false, true],
    ],
    ["R-002.3: purge", ended, { purge: true }, 0, [true, [], false, true]],
    ["R-002.3: purge before archive", ended, { purge: true, archive: true }, 0, [true, [], false, true]],
    ["R-002.19: retry", { ...ended, ...failures("archive") }, { retry: true }, LATER_MS, [false, [], true, true]],
    [
      "R-002.19: what was to be deleted is deleted whoever comes",
      { ...ended, ...failures("delete", "archive") },
      { archive: true },
      LATER_MS,
      [false, ["/delete"], true, true],
    ],
    [
      "R-002.19: retry of a deletion",
      { ...ended, ...failures("delete") },
      { retry: true },
      0,
      [false, ["/delete"], false, true],
    ],
  ])("%s", (_, given, asked: Asked, after, expected) => expect(plan(given, asked, after)).toEqual(expected));

  it.each([
    ["R-000.27: proven gone", ended, true],
    ["R-004.1: over without proof", unproven, false],
    ["R-004.1: lost", { intent: {}, claim: { by: "keeper" } }, false],
    ["never started", { claim: { by: "launcher" } }, false],
  ])("archived when it is due: %s", (_, given, expected) => expect(isArchivable(facts(given))).toBe(expected));
});

describe("what becomes of a file", () => {
  const file = (kind: FileKind, bytes: number | null = 5): TrackedFile =>
    ({ path: `/${kind}`, kind, bytes, created_at: null, sha256: null }) as TrackedFile;
  const before = (kind: string, action: FileReport["action"]): object =>
    cleaned({ files: [fileReport(`/${kind}`, action, 4, null, "hash")] });
  const step = (of: TrackedFile, given: object, asked: Asked = {}, held: string[] = []) => {
    const known = facts(given);
    const plan = cleanupPlan(known, { retry: true, ...asked }, LATER_MS);
    const [one] = fileSteps([of], known, plan, (paths) => paths.map((path) => (held.includes(path) ? "held" : "free")));
    const { report, hashes = false, deletes = false } = one ?? {};
    return report && [report.action, report.bytes, report.sha256, report.error, hashes, deletes];
  };
  const purge = { purge: true };
  it.each([
    ["R-002.3: a log is kept and hashed", file("log"), ended, {}, [], ["kept", 5, null, null, true, false]],
    ["R-002.3: a folder is not hashed", file("summaries"), ended, {}, [], ["kept", 5, null, null, false, false]],
    ["the run's own folder is no matter of a cleanup", file("run"), ended, purge, [], undefined],
    ["nor is a worktree", file("worktree"), ended, purge, [], undefined],
    ["R-002.3: purged", file("log"), ended, purge, [], ["kept", 5, null, null, true, true]],
    [
      "R-002.5: purged, but held",
      file("log"),
      ended,
      purge,
      ["/log"],
      ["failed", 5, null, "a process has it open for writing", false, false],
    ],
    ["R-002.5: held, and kept anyway", file("log"), ended, {}, ["/log"], ["kept", 5, null, null, true, false]],
    ["R-002.6: missing", file("log", null), ended, purge, [], ["missing", null, null, null, false, false]],
    [
      "R-002.6: deleted before",
      file("log", null),
      { ...ended, ...before("log", "deleted") },
      purge,
      [],
      ["deleted", 4, "hash", null, false, false],
    ],
    [
      "R-002.11: removed by its keeper",
      file("prompt", null),
      { ...ended, done: { verified: true, removed: [{ path: "/prompt", bytes: 9 }] } },
      {},
      [],
      ["deleted", 9, null, null, false, false],
    ],
    ["R-002.11: a prompt that its keeper left", file("prompt"), ended, {}, [], ["kept", 5, null, null, true, false]],
    [
      "R-002.11: a prompt that no keeper ever had",
      file("prompt"),
      { claim: { by: "launcher" } },
      {},
      [],
      ["kept", 5, null, null, true, true],
    ],
    [
      "R-004.6: archived before",
      file("log"),
      { ...ended, ...before("log", "archived") },
      {},
      [],
      ["archived", 4, "hash", null, false, false],
    ],
    [
      "R-002.3: archived before, and purged: its hash is that of the log",
      file("log"),
      { ...ended, ...before("log", "archived") },
      purge,
      [],
      ["kept", 5, "hash", null, false, true],
    ],
    [
      "R-002.19: it should have been deleted",
      file("log"),
      { ...ended, ...cleaned({ failures: [failed("delete", "/log")] as never }) },
      {},
      [],
      ["kept", 5, null, null, true, true],
    ],
  ])("%s", (_, of, given, asked, held, expected) => expect(step(of, given, asked, held)).toEqual(expected));

  it("R-002.3: what was deleted stays in the account under its old name", () => {
    const kept = fileReport("/log", "kept", 5);
    const known = facts({
      done: {
        removed: [
          { path: "/prompt", bytes: 9 },
          { path: "/old", bytes: 1 },
          { path: "/log", bytes: 1 },
        ],
      },
      ...cleaned({
        files: [fileReport("/old", "deleted", 3), fileReport("/gone", "kept", 3), fileReport("/log", "deleted", 3)],
      }),
    });
    expect(withGone([kept], known)).toEqual([
      kept,
      fileReport("/prompt", "deleted", 9),
      fileReport("/old", "deleted", 3),
    ]);
    expect(withGone([kept], facts({}))).toEqual([kept]);
  });
});

describe("packing", () => {
  it.each([
    ["R-000.20: to be packed", "/x", 5, false, undefined],
    ["R-004.6: packed before", "/x.zst", 5, true, fileReport("/x.zst", "archived", 5)],
    ["R-002.6: missing", "/x", null, true, fileReport("/x", "missing", null)],
    ["nothing in it", "/logs/x", 0, true, fileReport("/logs/x", "kept", 0)],
    ["R-000.27: held", "/x", 5, true, fileReport("/x", "failed", 5, "a process has it open for writing")],
  ])("%s", (_, from, bytes, held, expected) => expect(unpacked(from, "/x.zst", bytes, () => held)).toEqual(expected));

  it.each([
    ["sound", { index: "ok", bad_count: 0, partial: false }, false],
    ["its last line is torn", { index: "ok", bad_count: 1, partial: true }, false],
    ["a line is no JSON", { index: "none", bad_count: 1, partial: false }, true],
    ["a line is no JSON, and the last is torn", { index: "stale", bad_count: 2, partial: true }, true],
    ["other bytes than its keeper saw", { index: "wrong", bad_count: 0, partial: false }, true],
  ] as const)("R-000.22: damaged: %s", (_, verified, expected) => expect(isDamaged(verified)).toBe(expected));

  const log = fileReport("/t/logs/a_stream.jsonl", "kept", 5, null, "hash");
  const rest = fileReport("/t/deploy", "kept", 1);
  const packed = fileReport("/t/archive/a_stream.2.jsonl.zst", "archived", 5, null, "hash");
  it.each([
    ["R-000.20: takes the place of the plain one", [log, rest], packed, [packed, rest]],
    [
      "R-000.22: so does a damaged one",
      [log, rest],
      { ...packed, path: "/t/archive/a_stream.2.jsonl.corrupted.77" },
      undefined,
    ],
    ["R-004.6: nothing was done: what is known stays", [log, rest], fileReport(log.path, "kept", 0), [log, rest]],
    ["R-002.5: an error is told", [log, rest], fileReport(log.path, "kept", 0, "no"), undefined],
    ["R-004.15: of a log that nobody knew", [rest], packed, [rest, packed]],
  ])("the account of a log: %s", (_, files, file, expected) =>
    expect(withPacked(files, file, 2)).toEqual(expected ?? [file, rest]),
  );

  it.each([
    ["/t/logs/a_stream.jsonl", true],
    ["/t/logs/a_stderr.log", true],
    ["/t/archive/a_stream.3.jsonl.zst", true],
    ["/t/archive/a_stderr.3.log.corrupted.12", true],
    ["/t/logs/a_stream.idx", false],
    ["/t/agent_prompt_a.txt", false],
  ])("%s is a log: %s", (path, expected) => expect(isLog(path)).toBe(expected));
});

describe("the account", () => {
  const fact = (files: FileReport[], asked: Asked, before?: object) => {
    const known = facts({ ...ended, ...before });
    return cleanupFact(cleanupPlan(known, asked, LATER_MS), known.cleanup, null, files, AT);
  };
  const kept = fileReport("/log", "kept", 5);
  const broken = (path: string) => fileReport(path, "failed", 5, "no");

  it("R-002.3, R-002.17: what was deleted is freed, what failed is listed with its tries", () => {
    const files = [fileReport("/a", "deleted", 7), fileReport("/b", "deleted", null), kept, broken("/c")];
    expect(fact(files, { purge: true })).toEqual({
      result: null,
      files,
      freed_bytes: 7,
      at: AT,
      failures: [{ path: "/c", step: "delete", error: "no", tries: 1, since: AT, at: AT }],
    });
  });

  it.each([
    ["R-002.19: the same again", broken("/archive"), failures("archive"), { step: "archive", tries: 3, since: THEN }],
    ["R-002.19: a deletion again", broken("/delete"), failures("delete"), { step: "delete", tries: 3, since: THEN }],
    ["R-002.19: for the first time", broken("/log"), failures("archive"), { step: "archive", tries: 1, since: AT }],
    ["R-002.11: a prompt is to be deleted", broken("/agent_prompt_a.txt"), {}, { step: "delete", tries: 1, since: AT }],
    [
      "R-002.19: to be deleted now, not packed",
      { ...broken("/agent_prompt_a.txt"), error: null },
      cleaned({ failures: [failed("archive", "/agent_prompt_a.txt")] as never }),
      { step: "delete", tries: 1, error: "" },
    ],
  ])("%s", (_, file, before, expected) =>
    expect(fact([file], { retry: true }, before).failures).toMatchObject([expected]),
  );

  it.each([
    ["R-000.20: archived", [kept], { archive: true }, {}, AT],
    ["R-002.19: not when packing failed", [broken("/log")], { archive: true }, {}, undefined],
    ["R-002.19: also when a deletion failed", [broken("/delete")], { archive: true }, failures("delete"), AT],
    ["R-004.6: archived before", [kept], { purge: true }, cleaned({ archived_at: THEN }), THEN],
    ["R-004.5: not packed", [kept], {}, {}, undefined],
  ])("%s", (_, files, asked: Asked, before, expected) => {
    const made = fact(files, asked, before);
    expect(made.archived_at).toBe(expected);
    expect("archived_at" in made).toBe(expected !== undefined);
  });

  it("R-000.20: what a person brought back is remembered, and no longer archived", () => {
    const { cleanup } = facts(
      cleaned({ archived_at: THEN, files: [fileReport("/a_stream.1.jsonl.zst", "archived", 5)] }),
    );
    const plain = fileReport("/a_stream.jsonl", "kept", 5);
    const restored = restoredFact(cleanup, [plain], 1, AT);
    expect(restored).toEqual({ files: [plain], freed_bytes: 0, at: AT, restored_at: AT });
    expect(restoredFact(undefined, [plain], 1, AT)).toEqual(restored);
    expect(fact([plain], { retry: true }, { cleanup: restored }).restored_at).toBe(AT);
  });
});
