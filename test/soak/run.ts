// `npm run soak [FACTOR [SEED [NAME...]]]`: every campaign, or those named, long, three at a time, each in a process of its own; adds a
// section to docs/soak.md. `npm run soak NAME [ROUNDS]`: one of them. `npm run soak files -- FILE...`: test files, many times.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { adversary } from "./adversary.ts";
import { alertKills } from "./alert-kills.ts";
import { budgets } from "./budgets.ts";
import { companionCycles } from "./companion-cycles.ts";
import { crashMatrix } from "./crash-matrix.ts";
import { cycles } from "./cycles.ts";
import { differential } from "./differential.ts";
import { factFuzz } from "./fact-fuzz.ts";
import { fileKills } from "./file-kills.ts";
import { fleetChaos } from "./fleet-chaos.ts";
import { floods } from "./floods.ts";
import { httpFollowers } from "./http-followers.ts";
import { inProcess } from "./in-process.ts";
import { journalWriters } from "./journal-writers.ts";
import { jsonFuzz } from "./json-fuzz.ts";
import { keeperFuzz } from "./keeper-fuzz.ts";
import { leaderStops } from "./leader-stops.ts";
import { leaseSimulation } from "./lease-simulation.ts";
import { lostKeepers } from "./lost-keepers.ts";
import { manyProcesses } from "./many-processes.ts";
import { moneyByCompanion, moneyByKilled, moneyLimits } from "./money-limits.ts";
import { opinionKills } from "./opinion-kills.ts";
import { pathAttacks } from "./path-attacks.ts";
import { pidReuse } from "./pid-reuse.ts";
import { powerCuts } from "./power-cut.ts";
import { readBesideWrite } from "./read-beside-write.ts";
import { realClis } from "./real-clis.ts";
import { refusedUpgrades } from "./refused-upgrades.ts";
import type { Report } from "./report.ts";
import { retention } from "./retention.ts";
import { seedWriters } from "./seed-writers.ts";
import { signalsInClone } from "./signals.ts";
import { snapshotKills } from "./snapshot-kills.ts";
import { stopRaces } from "./stop-races.ts";
import { stopTrials } from "./stop-trials.ts";
import { files, suite } from "./suite.ts";
import { syncClones } from "./sync-clones.ts";
import { takeOver } from "./take-over.ts";
import { watchHangs } from "./watch-hangs.ts";
import { watchKills } from "./watch-kills.ts";
import { watchMemory } from "./watch-memory.ts";

type Campaign = (count: number, seed: number) => Promise<Report>;

const CAMPAIGNS: Readonly<Record<string, readonly [Campaign, rounds: number]>> = {
  stopTrials: [stopTrials, 1000],
  readBesideWrite: [readBesideWrite, 600],
  cycles: [cycles, 10_000],
  companionCycles: [companionCycles, 200],
  crashMatrix: [crashMatrix, 200],
  lostKeepers: [lostKeepers, 200],
  leaderStops: [leaderStops, 500],
  leaseSimulation: [leaseSimulation, 10_000],
  stopRaces: [stopRaces, 300],
  manyProcesses: [manyProcesses, 100],
  takeOver: [takeOver, 100],
  realClis: [realClis, 3],
  moneyLimits: [moneyLimits, 20],
  moneyByCompanion: [moneyByCompanion, 20],
  moneyByKilled: [moneyByKilled, 20],
  pathAttacks: [pathAttacks, 10_000],
  factFuzz: [factFuzz, 5000],
  adversary: [adversary, 100],
  keeperFuzz: [keeperFuzz, 600],
  pidReuse: [pidReuse, 1000],
  journalWriters: [journalWriters, 20_000],
  seedWriters: [seedWriters, 4000],
  powerCuts: [powerCuts, 20],
  snapshotKills: [snapshotKills, 60],
  watchKills: [watchKills, 200],
  opinionKills: [opinionKills, 60],
  alertKills: [alertKills, 200],
  budgets: [budgets, 30],
  fileKills: [fileKills, 200],
  retention: [retention, 3000],
  watchMemory: [watchMemory, 60],
  httpFollowers: [httpFollowers, 40],
  refusedUpgrades: [refusedUpgrades, 10_000],
  floods: [floods, 100],
  syncClones: [syncClones, 60],
  fleetChaos: [fleetChaos, 1200],
  signals: [signalsInClone, 20],
  watchHangs: [watchHangs, 1],
  differential: [differential, 3000],
  jsonFuzz: [jsonFuzz, 1_000_000],
  suite: [suite, 3],
};
/** Loads the machine itself, so only when it is asked for. */
const BY_NAME_ONLY = ["suite"];
const LANES = 3;
const root = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = `${root}docs/soak.md`;

const SEED = Date.now() % 1_000_000;
const [first = "1", ...rest] = process.argv.slice(2);
// Records of workspaces that campaigns make do not belong among those of the user.
if (first !== "--one") {
  const state = mkdtempSync(join(tmpdir(), "midwatch-soak-state-"));
  process.env["XDG_STATE_HOME"] = state;
  process.on("exit", () => rmSync(state, { recursive: true, force: true }));
}
if (first === "--one") await runOne(rest[0] ?? "", Number(rest[1]), Number(rest[2]));
else if (first === "files") await runFiles(rest);
else if (first in CAMPAIGNS) await runAll((name) => Number(rest[0] ?? roundsOf(name)), SEED, [first]);
else {
  const [seed = SEED, ...names] = rest;
  const all = Object.keys(CAMPAIGNS).filter((name) => !BY_NAME_ONLY.includes(name));
  const count = (name: string): number => Math.max(1, Math.round(roundsOf(name) * Number(first)));
  await runAll(count, Number(seed), names.length > 0 ? names : all);
}

function roundsOf(name: string): number {
  return (CAMPAIGNS[name] as readonly [Campaign, number])[1];
}

/** In a process of its own: the report as the last line. */
async function runOne(name: string, count: number, seed: number): Promise<void> {
  const [campaign] = CAMPAIGNS[name] as readonly [Campaign, number];
  console.log(JSON.stringify(await campaign(count, seed)));
  process.exit(0);
}

async function runFiles(paths: readonly string[]): Promise<void> {
  const { failures, figures } = await files(paths);
  console.log(figures);
  for (const failure of failures) console.log(`RED ${failure}`);
  process.exit(failures.length > 0 ? 1 : 0);
}

async function runAll(countOf: (name: string) => number, seed: number, names: readonly string[]): Promise<void> {
  const waiting = [...names];
  const reports: Report[] = [];
  const before = readFileSync(PAGE, "utf8").trimEnd();
  const lane = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const count = countOf(name);
      console.log(`${new Date().toISOString()} ${name} ${count} (seed ${seed}) ...`);
      const report = await inProcess(name, count, seed);
      console.log(
        `  ${name}: ${report.failures.length} failures in ${(report.tookMs / 1000).toFixed(0)} s`,
        report.figures,
      );
      for (const failure of report.failures.slice(0, 20)) console.log(`  FAILED ${failure}`);
      reports.push(report);
      writeFileSync(PAGE, `${before}\n\n${sectionOf(reports)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const failed = reports.some(({ failures }) => failures.length > 0);
  console.log(failed ? "FAILED" : "all held");
  process.exit(failed ? 1 : 0);
}

/** One run as a section of docs/soak.md, behind those of other days. */
function sectionOf(reports: readonly Report[]): string {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  const shown = (figures: Report["figures"]): string =>
    Object.entries(figures)
      .map(([name, value]) => `${name} ${value}`)
      .join("; ");
  const rows = reports.map(
    ({ name, count, seed, failures, figures, tookMs }) =>
      `| ${name} | ${count} | ${seed} | ${failures.length} | ${(tookMs / 1000).toFixed(0)} s | ${shown(figures)} |`,
  );
  return `## ${new Date().toISOString().slice(0, 16).replace("T", " ")}, commit ${commit}

Node ${process.version}, Linux ${release()}, ${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB.

| campaign | rounds | seed | failures | took | seen |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
}
