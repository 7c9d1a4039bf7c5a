/** The judge on the labelled runs of test/fixtures/watchbench, and the bench that measures it. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { groupsOf } from "../../bench/watch/groups.ts";
import { ours } from "../../bench/watch/ours.ts";
import { geminiCli, openHands } from "../../bench/watch/peers.ts";
import { loadRuns, splice } from "../../bench/watch/runs.ts";
import { scoreOf } from "../../bench/watch/score.ts";
import { fires, tune, type Valued } from "../../bench/watch/tune.ts";
import { patient } from "../support/patience.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const groups = groupsOf(loadRuns(`${root}/test/fixtures/watchbench`));

it("loops that people marked are told, resolved runs and other runs are not", () => {
  expect(groups.loops.map((run) => [run.id, ours(run).alert >= 0])).toEqual(groups.loops.map(({ id }) => [id, true]));
  for (const run of [...groups.healthy, ...groups.otherSola]) expect([run.id, ours(run).flagged]).toEqual([run.id, -1]);
});

it("a run that goes over to another task is told", () => {
  const spliced = splice(groups.healthy, false);
  expect(spliced).toHaveLength(4);
  for (const { run, at } of spliced) expect([run.id, ours(run, at).offTask >= at]).toEqual([run.id, true]);
});

it("the rules of others do what theirs do", () => {
  const [like] = groups.loops;
  const step = like?.steps[0];
  if (like === undefined || step === undefined) throw new Error("there is no loop in the sample");
  const steps = (count: number, more = {}): typeof like.steps =>
    Array.from({ length: count }, () => ({ ...step, ...more }));
  expect([3, 4].map((count) => openHands({ ...like, steps: steps(count, { err: false, obs: "fine" }) }))).toEqual([
    -1, 3,
  ]);
  expect([2, 3].map((count) => openHands({ ...like, steps: steps(count, { err: true }) }))).toEqual([-1, 2]);
  expect([4, 5].map((count) => geminiCli({ ...like, steps: steps(count, { thought: "" }) }))).toEqual([-1, 4]);
  const chant = "I have to look at this once more before I go on with it. ".repeat(12);
  expect(geminiCli({ ...like, steps: steps(1, { thought: chant }) })).toBe(0);
});

it("tuning finds the best union that keeps to the healthy runs", () => {
  const run = (kind: Valued["kind"], a: number, b: number): Valued => ({
    task: "t",
    group: "g",
    kind,
    values: { a, b },
  });
  const runs = [run("positive", 5, 0), run("positive", 0, 5), run("negative", 2, 2), run("healthy", 0, 4)];
  const union = tune(runs, { a: [2, 4, Infinity], b: [4, 5, Infinity] }, 0);
  expect(union).toEqual({ a: 4, b: 5 });
  const scored = runs
    .slice(0, 3)
    .map(({ kind, values }) => ({ task: "t", positive: kind === "positive", flagged: fires(union, values) }));
  expect(scoreOf(scored)).toEqual({ precision: 1, recall: 1, f1: 1 });
});

it("the bench runs on the sample", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bench/watch/run.ts"], {
    cwd: root,
    encoding: "utf8",
    timeout: patient(25_000),
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  for (const row of [
    "OpenHands as shipped",
    "gemini-cli as shipped",
    "peers' union",
    "step count",
    "midwatch watch",
    "midwatch alert",
  ]) {
    expect(stdout).toContain(row);
  }
});
