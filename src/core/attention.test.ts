import { describe, expect, it } from "vitest";
import { attentionOf, type Known, type Watched } from "./attention.ts";
import { ATTENTION_KINDS, type Unsettled } from "./attention-record.ts";
import type { AgentId, TaskId } from "./ids.ts";

const NOW = Date.parse("2026-11-15T19:20:00Z");
const run = (more: Partial<Known> = {}): Known => ({
  agent: "a-190000-000001" as AgentId,
  task: "TASK-20261115-190000-00000001" as TaskId,
  driver: "claude",
  phase: "running",
  outcome: null,
  status: "running",
  reason: null,
  alive: null,
  hold: null,
  bytes: 2048,
  last_output_at: "2026-11-15T19:00:00Z",
  started_at: "2026-11-15T18:59:00Z",
  ended_at: null,
  exit: { code: null, signal: null },
  tokens: null,
  cost_usd: null,
  cost_estimated: false,
  usd_per_hour: null,
  limit: null,
  session: "s-1",
  unsettled: null,
  watched: null,
  ...more,
});
const ended = (outcome: Known["outcome"], more: Partial<Known> = {}): Known =>
  run({ phase: "drained", outcome, exit: { code: 0, signal: null }, ...more });
const left = (more: Partial<Unsettled>): Unsettled => ({
  asks: null,
  deferred: null,
  denied: null,
  failures: null,
  ...more,
});
const watched = (more: Partial<Watched>): Watched => ({
  verdict: "blocked",
  cause: null,
  resets_at: null,
  rule: null,
  value: 0,
  asks: null,
  ...more,
});
const denied = { count: 2, tool: "Bash", call: "touch made.txt", permission: "ask" } as const;

describe("attentionOf", () => {
  it.each<[string, Known, (typeof ATTENTION_KINDS)[number] | undefined, RegExp]>([
    ["one that runs", run(), undefined, /^/],
    ["one on its track", run({ watched: watched({ verdict: "on_track" }) }), undefined, /^/],
    ["one that is done", ended("completed"), undefined, /^/],
    ["one that was stopped", ended("stopped", { unsettled: left({ asks: "Which?" }) }), undefined, /^/],
    [
      "a lost one that works on",
      run({ phase: "lost", outcome: "lost", alive: [{ pid: 7, name: "node" }] }),
      "lost",
      /1 of its processes works on/,
    ],
    ["a lost one that nobody can see", run({ phase: "lost", outcome: "lost" }), "lost", /nobody can see/],
    ["one whose end nobody saw", ended("lost", { exit: { code: null, signal: null } }), "lost", /nobody saw/],
    ["one that will not end", run({ phase: "stuck", outcome: "stopped" }), "stuck", /cannot be ended/],
    ["a held one", run({ hold: { why: "disk", since: "2026-11-15T19:10:00Z" } }), "held", /disk.*10 min/],
    [
      "a blocked one",
      run({ watched: watched({ rule: "repeat", value: 48 }) }),
      "blocked",
      /^Same call with the same result 48 times in a row\.$/,
    ],
    [
      "one that waits for a permission",
      run({ watched: watched({ rule: "permission_wait", cause: "permission_wait" }) }),
      "asks",
      /permission; no answer for 20 min/,
    ],
    [
      "one off its track",
      run({ watched: watched({ verdict: "off_track", rule: "off_task", value: 6 }) }),
      "off_track",
      /6 steps/,
    ],
    [
      "one out of quota",
      run({ watched: watched({ rule: "trouble", cause: "quota", value: 3, resets_at: "2026-11-15T21:00:00Z" }) }),
      "blocked",
      /^Usage limit reached\. Resets at 2026-11-15T21:00:00Z\.$/,
    ],
    [
      "a living one that asked",
      run({ watched: watched({ verdict: "on_track", asks: "Which one?" }) }),
      "asks",
      /Which one/,
    ],
    [
      "one that did not start",
      run({ phase: "launch_failed", outcome: "failed", reason: "exec: ENOENT" }),
      "launch_failed",
      /^Exec: ENOENT\.$/,
    ],
    ["a launch that was called off", run({ phase: "launch_failed", outcome: "stopped" }), undefined, /^/],
    ["a failed one", ended("failed", { exit: { code: 2, signal: null } }), "failed", /^Run failed \(exit 2\)\.$/],
    [
      "one that passed a limit",
      ended("limit", { reason: "Stopped: 20 s time limit reached.", exit: { code: null, signal: "SIGINT" } }),
      "limit",
      /^Stopped: 20 s time limit reached\.$/,
    ],
    [
      "one with some tools denied",
      ended("completed", { unsettled: left({ denied }) }),
      "denied",
      /^Not permitted: Bash \(touch made\.txt\) and 1 more\.$/,
    ],
    [
      "one whose last words ask",
      ended("completed", { unsettled: left({ asks: "Which database?" }) }),
      "asks",
      /^It asks: Which database\?$/,
    ],
    [
      "one that failed at everything",
      ended("completed", { unsettled: left({ failures: 25 }) }),
      "gave_up",
      /25 tool calls that all failed/,
    ],
    ["one with a small question answered no", ended("completed", { unsettled: left({ failures: 1 }) }), undefined, /^/],
    [
      "one that left a call to a person",
      ended("failed", { unsettled: left({ deferred: "Bash: rm x", denied }) }),
      "asks",
      /decide: Bash: rm x/,
    ],
    [
      "one that failed and had asked before",
      ended("failed", { reason: "API error", unsettled: left({ asks: "Which?" }) }),
      "failed",
      /^API error\.$/,
    ],
  ])("%s", (_, known, kind, why) => {
    const found = attentionOf(known, NOW);
    expect(found?.kind).toBe(kind);
    expect(found?.why ?? "").toMatch(why);
    if (found) expect(ATTENTION_KINDS).toContain(found.kind);
  });

  it("counts silence on while somebody looks, whatever the watch had counted", () => {
    const silent = run({ watched: watched({ rule: "model_silent", cause: "model_silent", value: 540 }) });
    expect(attentionOf(silent, NOW)?.why).toBe("No model reply for 20 min; no tool running.");
    expect(attentionOf(silent, NOW + 600_000)?.why).toBe("No model reply for 30 min; no tool running.");
  });

  it("advises the least that permits the call, and no more permission where there is none", () => {
    const next = (more: Partial<NonNullable<Unsettled["denied"]>>): string | undefined =>
      attentionOf(ended("completed", { unsettled: left({ denied: { ...denied, ...more } }) }), NOW)?.next;
    expect(next({})).toContain("--permission all --task TASK-20261115-190000-00000001");
    expect(next({ tool: "Write" })).toContain("--permission edit");
    expect(next({ tool: "Write", permission: "edit" })).toContain("--permission all");
    expect(next({ permission: "all" })).toBe("midwatch logs a-190000-000001");
  });
});
