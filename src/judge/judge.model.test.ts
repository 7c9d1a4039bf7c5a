import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Outcome, Phase } from "../core/types.ts";
import type { Activity, Trouble } from "../drivers/index.ts";
import { type Facts, Judge, type Judgement, judge, type Moment } from "./judge.ts";
import { confidence, RULE_NAMES, RULES } from "./rules.ts";

const text = fc.oneof(
  fc.string(),
  fc.constantFrom("Error: not found", "ok", "", "{", '{"a":1}', "\u0000\ud800", "a\n".repeat(500)),
);
const id = fc.option(fc.constantFrom("1", "2", "3"), { nil: null });
const activity: fc.Arbitrary<Activity> = fc.oneof(
  fc.record({ kind: fc.constant("started" as const), session: fc.constant(null), model: fc.constant(null) }),
  fc.record({ kind: fc.constant("said" as const), text }),
  fc.record({ kind: fc.constant("thought" as const), text }),
  fc.record({
    kind: fc.constant("tool" as const),
    id,
    name: fc.constantFrom("Bash", "Edit", "", "Read"),
    input: fc.oneof(text, fc.jsonValue(), fc.constant(undefined)),
    paths: fc.array(text, { maxLength: 2 }),
  }),
  fc.record({ kind: fc.constant("tool_result" as const), id, ok: fc.boolean(), text }),
  fc.record({ kind: fc.constant("permission" as const), tool: text, denied: fc.boolean() }),
  fc.record({
    kind: fc.constant("trouble" as const),
    trouble: fc.constantFrom<Trouble>("api_error", "rate_limit", "quota", "overloaded", "auth", "network"),
    text,
    status: fc.constant(null),
    resets_at: fc.constant(null),
    fatal: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("finished" as const),
    ok: fc.boolean(),
    why: fc.constant(null),
    text: fc.constant(null),
  }),
  fc.record({ kind: fc.constant("note" as const), name: text }),
  fc.record({ kind: fc.constant("unparsed" as const), text }),
);
const moments: fc.Arbitrary<Moment[]> = fc
  .array(fc.tuple(activity, fc.option(fc.integer({ min: 0, max: 1e6 }), { nil: null })), { maxLength: 120 })
  .map((list) => list.map(([what, atMs], index) => ({ activity: what, atMs, seq: index + 1 })));
const facts: fc.Arbitrary<Facts> = fc.record({
  nowMs: fc.integer({ min: 0, max: 1e7 }),
  phase: fc.constantFrom<Phase>(
    "intended",
    "launching",
    "running",
    "stopping",
    "exited",
    "drained",
    "launch_failed",
    "lost",
    "stuck",
  ),
  outcome: fc.constantFrom<Outcome | null>(null, "completed", "failed", "stopped", "limit", "lost"),
  why: fc.constant(null),
  startedMs: fc.option(fc.integer({ min: 0, max: 1e6 }), { nil: null }),
  lastOutputMs: fc.option(fc.integer({ min: 0, max: 1e6 }), { nil: null }),
  hold: fc.constant(null),
  speaks: fc.boolean(),
  process: fc.option(
    fc.record({ cpu: fc.double({ min: 0, max: 4, noNaN: true }), children: fc.nat(3), stopped: fc.boolean() }),
    { nil: null },
  ),
});

function check({ verdict, level, confidence, cause, reasons }: Judgement, lines: number): void {
  const [first] = reasons;
  expect(level).toBe(first?.level ?? "none");
  expect(confidence).toBeGreaterThanOrEqual(0);
  expect(confidence).toBeLessThan(1);
  expect(cause !== null).toBe(verdict === "blocked");
  // Nothing is said against an agent without a reason that anybody can look up.
  if (verdict !== "on_track" && verdict !== "unknown") expect(first).toBeDefined();
  for (const reason of reasons) {
    expect(reason.value).toBeGreaterThanOrEqual(reason.threshold);
    expect(reason.evidence.quote.length).toBeLessThanOrEqual(160);
    const seq = reason.evidence.seq;
    if (seq !== null) expect(0 <= seq.from && seq.from <= seq.to && seq.to <= lines).toBe(true);
  }
}

it("any sequence of activities gives a verdict with evidence, and never throws", () => {
  fc.assert(
    fc.property(moments, text, facts, (list, task, known) => check(judge(list, task, known), list.length)),
    { numRuns: 300 },
  );
});

it("asking changes nothing: a verdict depends on what was added and on the facts alone", () => {
  fc.assert(
    fc.property(moments, facts, (list, known) => {
      const asked = new Judge("");
      for (const { activity: what, atMs, seq } of list) {
        asked.add(what, atMs, seq);
        asked.verdict(known);
      }
      expect(asked.verdict(known)).toEqual(judge(list, "", known));
    }),
    { numRuns: 100 },
  );
});

it("longer silence never makes a verdict milder", () => {
  const rank = { none: 0, watch: 1, alert: 2 };
  fc.assert(
    fc.property(moments, facts, fc.nat(1e6), (list, known, more) => {
      const sooner = judge(list, "", known);
      const later = judge(list, "", { ...known, nowMs: known.nowMs + more });
      expect(rank[later.level]).toBeGreaterThanOrEqual(rank[sooner.level]);
    }),
    { numRuns: 200 },
  );
});

it("every rule has a watch that is not above its alert, a source and a precision", () => {
  for (const name of RULE_NAMES) {
    const { watch, alert, source, precision } = RULES[name];
    expect(watch).toBeLessThanOrEqual(alert);
    expect(source).not.toBe("");
    for (const share of Object.values(precision))
      expect(confidence(share)).toSatisfy((one: number) => one > 0 && one < 1);
  }
});

it("memory stays the same however long a run goes on", () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const judging = new Judge("a task of many words: parser lexer grammar tokens visitor compiler");
  const known: Facts = {
    nowMs: 0,
    phase: "running",
    outcome: null,
    why: null,
    startedMs: 0,
    lastOutputMs: 0,
    hold: null,
    speaks: true,
    process: null,
  };
  let seq = 0;
  const work = (steps: number): number => {
    for (let step = 0; step < steps; step++) {
      const name = Math.imul(seq, 2654435761).toString(36);
      judging.add({ kind: "said", text: `I read ${name} in pieces ` }, seq, ++seq);
      judging.add(
        { kind: "tool", id: name, name: "Bash", input: { command: `cat ${name}` }, paths: [name] },
        seq,
        ++seq,
      );
      // Every tenth result never comes.
      if (step % 10 === 0) continue;
      const output = Array.from({ length: 8 }, (_, line) => `${name} ${String.fromCharCode(97 + line)} ${name}`).join(
        "\n",
      );
      judging.add({ kind: "tool_result", id: name, ok: true, text: output }, seq, ++seq);
    }
    judging.verdict(known);
    gc();
    return process.memoryUsage().heapUsed;
  };
  const full = work(4000);
  expect(work(12_000) - full).toBeLessThan(2 ** 20);
});
