/** Randomised stops over the whole zoo, on both tiers. The same seed gives the same trials. */
import { execFileSync } from "node:child_process";
import { pick, random } from "../support/data/random.ts";
import { runTrial, type Tier, type Trial, type TrialResult } from "../support/fault/trial.ts";
import { zoo } from "../support/fault/zoo.ts";
import { campaign, percentile, type Report, rounds } from "./report.ts";

const TIERS: readonly Tier[] = ["auto", "subreaper"];
const AT_ONCE = 3;
/** Shapes that are mains of their own; the others are children of a main that works. */
const MAINS = [
  ["stubborn"],
  ["polite-main"],
  ["swallow"],
  ["exit0"],
  ["exit", "139"],
  ["raise", "11"],
  ["leftovers"],
  ["write", "20"],
  ["hop", "2"],
  ["hop", "20"],
  ["bomb-of", "100"],
];

/** `count` trials on each tier. */
export function stopTrials(count: number, seed: number): Promise<Report> {
  return campaign("randomised stops", TIERS.length * count, seed, async (fail, figures) => {
    const children = execFileSync(zoo(), ["list"], { encoding: "utf8" }).trim().split("\n");
    for (const tier of TIERS) {
      const results = await runAll(plan(count, seed, tier, children));
      const processes = results.reduce((sum, result) => sum + result.processes, 0);
      const late = results.map(({ tookMs, graceMs }) => Math.max(0, tookMs - graceMs));
      figures[`${tier}: guarantee`] = [...new Set(results.map(({ guarantee }) => guarantee))].join(" ");
      figures[`${tier}: processes`] = processes;
      figures[`${tier}: ms over grace, median`] = percentile(late, 0.5);
      figures[`${tier}: ms over grace, p99`] = percentile(late, 0.99);
      for (const { shape, delayMs, graceMs, takeOver, problems } of results) {
        const what = `${tier} ${shape.join(" ")} after ${delayMs} ms, grace ${graceMs}${takeOver ? ", taken over" : ""}`;
        for (const problem of problems) fail(`${what}: ${problem}`);
      }
    }
  });
}

/** Every shape comes up as often as any other, the second tier going on where the first ended; the rest is random. */
function plan(count: number, seed: number, tier: Tier, children: readonly string[]): Trial[] {
  const place = TIERS.indexOf(tier);
  const next = random(seed + place);
  const below = (n: number): number => Math.floor(next() * n);
  const kinds = [...children.map((name) => [name]), ...MAINS, ["mixed"], ["mixed"], ["mixed"], ["mixed"]];
  return Array.from({ length: count }, (_, i) => {
    const kind = kinds[(seed + place * count + i) % kinds.length] as string[];
    const shape = kind[0] === "mixed" ? ["mixed", String(below(1e9)), String(3 + below(20))] : kind;
    const takeOver = tier === "auto" && next() < 0.1;
    return {
      tier,
      shape,
      delayMs: below(400),
      graceMs: pick(next, [0, 50, 200, 500]),
      unsignalled: next() < 0.1,
      takeOver,
    };
  });
}

async function runAll(trials: readonly Trial[]): Promise<TrialResult[]> {
  const results: TrialResult[] = [];
  const shared = rounds(trials.length);
  const runner = async (): Promise<void> => {
    for (let one = shared.next(); !one.done; one = shared.next())
      results.push(await runTrial(trials[one.value] as Trial));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
  return results;
}
