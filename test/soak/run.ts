// `npm run soak [FACTOR] [SEED]`: every campaign in turn, long, for a quiet night; writes docs/soak.md.
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { crashMatrix } from "./crash-matrix.ts";
import { jsonFuzz } from "./json-fuzz.ts";
import { lostKeepers } from "./lost-keepers.ts";
import { manyProcesses } from "./many-processes.ts";
import { readBesideWrite } from "./read-beside-write.ts";
import type { Report } from "./report.ts";
import { stopRaces } from "./stop-races.ts";
import { takeOver } from "./take-over.ts";

type Campaign = (count: number, seed: number) => Promise<Report>;

const root = fileURLToPath(new URL("../..", import.meta.url));
const [factor = "1", seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);

const campaigns: [Campaign, number][] = [
  [crashMatrix, 200],
  [lostKeepers, 200],
  [stopRaces, 500],
  [takeOver, 100],
  [manyProcesses, 100],
  [readBesideWrite, 600],
  [jsonFuzz, 1_000_000],
];
const trials = new URL("./stop-trials.ts", import.meta.url);
if (existsSync(trials)) {
  const { stopTrials } = (await import(trials.href)) as { stopTrials: Campaign };
  campaigns.push([stopTrials, 1000]);
}

const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const reports: Report[] = [];
for (const [campaign, full] of campaigns) {
  const count = Math.max(1, Math.round(full * Number(factor)));
  console.log(`${new Date().toISOString()} ${campaign.name} ${count} (seed ${seed}) ...`);
  const report = await campaign(count, Number(seed));
  reports.push(report);
  const { name, failures, figures, tookMs } = report;
  console.log(`  ${name}: ${failures.length} failures in ${(tookMs / 1000).toFixed(0)} s`, figures);
  for (const failure of failures.slice(0, 20)) console.log(`  FAILED ${failure}`);
}

const shown = (figures: Report["figures"]): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value}`)
    .join("; ");
const rows = reports.map(
  ({ name, count, seed: used, failures, figures, tookMs }) =>
    `| ${name} | ${count} | ${used} | ${failures.length} | ${(tookMs / 1000).toFixed(0)} s | ${shown(figures)} |`,
);
const changed = git("status", "--porcelain") === "" ? "" : " with changes";
writeFileSync(
  `${root}docs/soak.md`,
  `# Soak

<!-- Written by npm run soak (test/soak/run.ts). -->

${new Date().toISOString()}, commit ${git("rev-parse", "--short", "HEAD")}${changed}, Node ${process.version}, Linux ${release()},
${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB.

| campaign | rounds | seed | failures | took | seen |
|---|---|---|---|---|---|
${rows.join("\n")}
`,
);
const failed = reports.some(({ failures }) => failures.length > 0);
console.log(failed ? "FAILED" : "all held");
process.exit(failed ? 1 : 0);
