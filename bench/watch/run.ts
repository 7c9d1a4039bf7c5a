/**
 * `npm run bench:watch [-- --data DIR] [--tune DIR]`: the judge beside other programs' loop rules on labelled runs, in one run. DIR
 * holds `*.jsonl[.gz]` as in test/fixtures/watchbench, which is the default and only shows that everything works. The union of
 * peers' rules and the step count are tuned on `--tune` (default: on the data itself, which favours them).
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { RULES } from "../../src/judge/rules.ts";
import { alarmTables, labelsIn } from "./alarms.ts";
import { type Groups, groupsOf } from "./groups.ts";
import { leaveOut } from "./leave-out.ts";
import { offTaskTable } from "./off-task.ts";
import { type Judged, ours } from "./ours.ts";
import { familyValues, geminiCli, openHands, stepCount } from "./peers.ts";
import { ringTable, sourceOf } from "./ring.ts";
import { loadRuns, momentsOf, type Run } from "./runs.ts";
import { interval, type Scored, scoreOf } from "./score.ts";
import { stuckValues } from "./steps-of.ts";
import { count, percent, print, range } from "./table.ts";
import { fires, PEER_CHOICES, STEP_CHOICES, tune, type Valued } from "./tune.ts";

const { values } = parseArgs({ options: { data: { type: "string" }, tune: { type: "string" } } });
const sample = fileURLToPath(new URL("../../test/fixtures/watchbench", import.meta.url));
const data = values.data ?? process.env["MIDWATCH_WATCHBENCH"] ?? sample;
for (const folder of [data, values.tune ?? sample]) {
  if (existsSync(folder)) continue;
  console.error(`There is no folder ${folder}. Give one with *.jsonl or *.jsonl.gz in it: --data DIR.`);
  process.exit(2);
}

/** The share of healthy runs that a tuned detector may flag. */
const MOST_FALSE = 0.03;

const started = performance.now();
const runs = loadRuns(data);
const groups = groupsOf(runs);
const tuning = values.tune === undefined ? groups : groupsOf(loadRuns(values.tune));
const judged = new Map(runs.filter(({ ds }) => ds !== "cc_entire").map((run) => [run, ours(run)]));
const judgedOf = (run: Run): Judged => judged.get(run) ?? ours(run);

console.log(`watchbench ${data}${values.tune === undefined ? "" : `, tuned on ${values.tune}`}`);
console.log(
  `stuck ${groups.stuck.length}, submitted ${groups.submitted.length}, healthy ${groups.healthy.length}, loops ${groups.loops.length}\n`,
);

function valued(from: Groups, valuesOf: (run: Run) => Record<string, number>): Valued[] {
  const of = (list: readonly Run[], kind: Valued["kind"]): Valued[] =>
    list.map((run) => ({ task: run.task_id, group: sourceOf(run), kind, values: valuesOf(run) }));
  return [...of(from.stuck, "positive"), ...of(from.submitted, "negative"), ...of(from.healthy, "healthy")];
}

const union = tune(valued(tuning, familyValues), PEER_CHOICES, MOST_FALSE);
const steps = tune(valued(tuning, stepCount), STEP_CHOICES, MOST_FALSE);

alarmTables(runs, data, union);
const called = labelsIn(data).filter(({ alert }) => alert.every(Boolean));
ringTable(runs, groups.healthy, new Set(called.map(({ id }) => id)));

type Flags = (run: Run) => boolean;
const detectors: [string, Flags][] = [
  ["OpenHands as shipped", (run) => openHands(run) >= 0],
  ["gemini-cli as shipped", (run) => geminiCli(run) >= 0],
  [`peers' union, tuned: ${words(union)}`, (run) => fires(union, familyValues(run))],
  [`step count, tuned: ${words(steps)}`, (run) => fires(steps, stepCount(run))],
  ["20 steps or more", (run) => run.steps.length >= 20],
  ["midwatch watch", (run) => judgedOf(run).watch >= 0],
  ["midwatch alert", (run) => judgedOf(run).alert >= 0],
];

function words(tuned: Readonly<Record<string, number>>): string {
  return Object.entries(tuned)
    .filter(([, threshold]) => Number.isFinite(threshold))
    .map(([rule, threshold]) => `${rule} ${threshold}`)
    .join(", ");
}

function stuckRuns(detector: Flags): Scored[] {
  const of = (list: readonly Run[], positive: boolean): Scored[] =>
    list.map((run) => ({ task: run.task_id, positive, flagged: detector(run) }));
  return [...of(groups.stuck, true), ...of(groups.submitted, false)];
}

const scored = detectors.map(([name, detector]) => ({ name, detector, runs: stuckRuns(detector) }));
print(
  ["stuck runs", "P", "R", "F1", "95 % of F1", "healthy flagged", "human loops", "other sola"],
  scored.map(({ name, detector, runs: list }) => {
    const score = scoreOf(list);
    const between = interval(list, (sampled) => scoreOf(sampled).f1);
    return [
      name,
      score.precision.toFixed(2),
      score.recall.toFixed(2),
      score.f1.toFixed(3),
      range(between),
      count(groups.healthy, detector),
      `${groups.loops.filter(detector).length} of ${groups.loops.length}`,
      `${groups.otherSola.filter(detector).length} of ${groups.otherSola.length}`,
    ];
  }),
);

const peer = scored[2]?.runs ?? [];
for (const { name, runs: list } of scored.filter(({ name }) => name.startsWith("midwatch"))) {
  const pairs = list.map((run, at) => ({ task: run.task, ours: run, peer: peer[at] ?? run }));
  const difference = interval(
    pairs,
    (sampled) => scoreOf(sampled.map((pair) => pair.ours)).f1 - scoreOf(sampled.map((pair) => pair.peer)).f1,
  );
  console.log(`F1 of ${name} less that of the tuned union: ${range(difference)}`);
}

const both: Groups = {
  ...groups,
  stuck: [...groups.stuck, ...groups.loops],
  submitted: [...groups.submitted, ...groups.otherSola],
};
leaveOut(
  valued(both, familyValues),
  valued(both, (run) => stuckValues(momentsOf(run.steps))),
  MOST_FALSE,
);

print(
  ["runs never flagged", "verdict", "no rule even at watch"],
  Object.entries({ "healthy (resolved)": groups.healthy, unresolved: groups.unresolved, ...groups.others }).map(
    ([name, list]) => [
      name,
      count(list, (run) => judgedOf(run).flagged < 0),
      count(list, (run) => judgedOf(run).watch < 0 && judgedOf(run).offTask < 0),
    ],
  ),
);

offTaskTable(groups, judgedOf);

const left = groups.stuck.map((run) => ({ run, at: judgedOf(run).alert })).filter(({ at }) => at >= 0);
const saved = left.map(({ run, at }) => run.steps.length - 1 - at).sort((a, b) => a - b);
console.log(`\nsteps left when a stuck run is told: median ${saved[saved.length >> 1] ?? "none"}\n`);

const bad = [...groups.submitted, ...groups.healthy, ...groups.otherSola];
const good = [...groups.stuck, ...groups.loops];
print(
  ["rule", "watch: right", "wrong", "precision", "alert: right", "wrong", "precision"],
  Object.keys(RULES).flatMap((rule) => {
    const cells = (["watch", "alert"] as const).flatMap((level) => {
      const at = (run: Run): boolean => {
        const reached = [...judgedOf(run).rules].find(([name]) => name === rule)?.[1];
        return reached === "alert" || reached === level;
      };
      const right = good.filter(at).length;
      const wrong = bad.filter(at).length;
      return [String(right), String(wrong), right + wrong === 0 ? "-" : percent(right / (right + wrong))];
    });
    return cells[0] === "0" && cells[1] === "0" ? [] : [[rule, ...cells]];
  }),
);
const total = runs.reduce((sum, run) => sum + run.steps.length, 0);
console.log(`${runs.length} runs, ${total} steps in ${((performance.now() - started) / 1000).toFixed(1)} s`);
