// Gets npm packages into a folder of the user's cache, from the registry that this machine is set up with, and runs none of their scripts unless told to.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";

const TIMEOUT_MS = 300_000;

/**
 * Beside its place first, then by rename: what is there is whole, also with two at once. Returns what went wrong.
 * check: is told the folder, and says what is wrong with it.
 */
export async function fetchPackages(place, packages, { scripts = false, check = () => undefined } = {}) {
  const made = `${place}.${process.pid}`;
  mkdirSync(made, { recursive: true });
  try {
    const args = ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--fetch-retries=1"];
    const quiet = ["--loglevel=error", ...(scripts ? [] : ["--ignore-scripts"])];
    const { code, stderr } = await npm([...args, ...quiet, "--prefix", made, ...packages]);
    if (code !== 0) return stderr.trim().split("\n")[0] || `npm ended with ${code}`;
    const problem = check(made);
    if (problem !== undefined) return problem;
    if (!existsSync(place)) renameSync(made, place);
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
