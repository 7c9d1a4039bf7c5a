// `node scripts/real-clis.mjs [NAME...]`: installs the agent CLIs that tests run (test/support/cli/real-clis.json), each version once,
// into the user's cache. Without a network or a package the tests of that CLI are skipped, so this never fails a run; it says so.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { CLIS, cliFolder, cliProgram } from "../test/support/cli/real-clis.ts";
import { say } from "./ready.mjs";

const TIMEOUT_MS = 180_000;

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

/** Beside its place first, then by rename: what is there is whole, also with two at once. Returns what went wrong. */
async function install(name) {
  const { package: wanted, version } = CLIS[name];
  const begun = Date.now();
  const place = cliFolder(name);
  const made = `${place}.${process.pid}`;
  mkdirSync(made, { recursive: true });
  try {
    const args = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--fetch-retries=1"];
    const { code, stderr } = await npm([...args, "--loglevel=error", "--prefix", made, `${wanted}@${version}`]);
    if (code !== 0) return stderr.trim().split("\n")[0] || `npm ended with ${code}`;
    // A package may install without the binary that its script fetches.
    const told = spawnSync(cliProgram(name, made), ["--version"], {
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: made },
      encoding: "utf8",
      timeout: 60_000,
    });
    if (!told.stdout?.includes(version)) return `it says ${JSON.stringify(told.stdout)} instead of its version`;
    if (!existsSync(place)) renameSync(made, place);
    say(`installed ${name} ${version} in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** npm with the machine's own settings, in a group of its own: after the time-out its children end with it. */
function npm(args) {
  return new Promise((resolve) => {
    const child = spawn("npm", args, { detached: true, stdio: ["ignore", "ignore", "pipe"] });
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), TIMEOUT_MS);
    let stderr = "";
    child.stderr.on("data", (part) => {
      stderr += part;
    });
    const end = (code, why) => {
      clearTimeout(timer);
      resolve({ code, stderr: why });
    };
    child.on("error", (error) => end(null, error.message));
    child.on("close", (code, signal) =>
      end(code, signal === null ? stderr : `${signal} within ${TIMEOUT_MS / 1000} s`),
    );
  });
}
