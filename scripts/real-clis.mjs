// `node scripts/real-clis.mjs [NAME...]`: installs the agent CLIs that tests run (test/support/cli/real-clis.json), each version once,
// into the user's cache. Without a network or a package the tests of that CLI are skipped, so this never fails a run; it says so.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { CLIS, cliFolder, cliProgram } from "../test/support/cli/real-clis.ts";
import { fetchPackages } from "./fetch.mjs";
import { say } from "./ready.mjs";

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in CLIS));
if (unknown.length > 0) {
  say(`there is no ${unknown.join(", ")} here. Next: one of ${Object.keys(CLIS).join(", ")}`);
  process.exit(2);
}
const missing = (asked.length > 0 ? asked : Object.keys(CLIS)).filter((name) => !existsSync(cliProgram(name)));
await Promise.all(
  missing.map(async (name) => {
    const problem = await install(name);
    if (problem) say(`SKIPPED: ${name} ${CLIS[name].version} cannot be had, its tests will not run: ${problem}`);
  }),
);

/** Returns what went wrong. */
async function install(name) {
  const { package: wanted, version } = CLIS[name];
  const begun = Date.now();
  const problem = await fetchPackages(cliFolder(name), [`${wanted}@${version}`], {
    scripts: true,
    // A package may install without the binary that its script fetches.
    check(made) {
      const told = spawnSync(cliProgram(name, made), ["--version"], {
        env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: made },
        encoding: "utf8",
        timeout: 60_000,
      });
      return told.stdout?.includes(version)
        ? undefined
        : `it says ${JSON.stringify(told.stdout)} instead of its version`;
    },
  });
  if (problem === undefined) say(`installed ${name} ${version} in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  return problem;
}
