// Makes a clone ready to run: a new enough Node, installed packages, a fresh build. Plain JS that Node 18 can run.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path) => join(root, path);
const nodePath = at("node_modules/.cache/midwatch/node");

/** For people; stdout belongs to the program that runs afterwards. */
export const say = (line) => process.stderr.write(`midwatch: ${line}\n`);

/** Brings everything up to date, puts the right Node and the installed tools first on PATH, returns that Node. */
export async function ready() {
  await lock();
  try {
    const node = findNode();
    process.env.PATH = [dirname(node), at("node_modules/.bin"), process.env.PATH].join(delimiter);
    if (changedAt("node_modules/.package-lock.json") < changedAt("package-lock.json")) install();
    mkdirSync(dirname(nodePath), { recursive: true });
    writeFileSync(nodePath, `${node}\n`);
    if (changedAt("dist/midwatch.js") < sourcesChangedAt()) build(node);
    unlock();
    return node;
  } catch (error) {
    unlock();
    say(error.message);
    process.exit(5);
  }
}

function findNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return process.execPath;
  const known = existsSync(nodePath) ? readFileSync(nodePath, "utf8").trim() : "";
  if (existsSync(known)) return known;
  say(`Node ${process.versions.node} is older than 22.18: getting Node 24 from npm (once, about 20 s)`);
  const args = ["exec", "--yes", "--package=node@24", "--", "node", "-p", "process.execPath"];
  try {
    const output = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return output.trim().split("\n").at(-1);
  } catch (error) {
    throw new Error(
      `npm could not fetch Node 24. Next: install Node 22.18 or newer.\n${error.stderr ?? error.message}`,
    );
  }
}

function install() {
  // npm ci empties the folder behind a link, which is somebody else's, and then puts a new one in the link's place.
  if (lstatSync(at("node_modules"), { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      "node_modules is a link and older than package-lock.json. Next: npm ci in the folder that it belongs to.",
    );
  say("installing packages with npm ci (about 20 s)");
  run("npm", ["ci", "--no-progress", "--loglevel=error"], "npm ci failed. Next: check the network, then try again.");
}

function build(node) {
  needCommands(["gcc", "make"]);
  say("building");
  run(node, ["scripts/build.mjs"], "The build failed; the lines above say where.");
}

function run(command, args, hint) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(hint);
}

/** Installs the Debian packages of these commands as far as they are missing and we may; else says how. */
export function needCommands(commands) {
  const missing = commands.filter((command) => !onPath(command));
  if (missing.includes("gcc")) missing.push("libc6-dev");
  if (missing.length === 0) return;
  const next = `apt-get install ${missing.join(" ")}`;
  if (process.getuid?.() !== 0 || !onPath("apt-get")) return say(`missing here, going on without. Next: sudo ${next}`);
  say(`installing ${missing.join(" ")} with apt-get`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args) => spawnSync("apt-get", ["-qq", ...args], { env, stdio: ["ignore", 2, 2] }).status === 0;
  apt("update"); // a fresh image has no package lists; stale ones may still do
  if (!apt("install", "-y", "--no-install-recommends", ...missing))
    say(`apt-get failed, going on without. Next: ${next}`);
}

function onPath(command) {
  return process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, command)));
}

function changedAt(path) {
  return statSync(at(path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The time of the newest file that the build reads. The `find` in ./midwatch asks the same question. */
function sourcesChangedAt() {
  const inside = (folder) =>
    readdirSync(at(folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return inside(path);
      return /\.(tsx?|css|html|svg|mjs|c|h)$|^Makefile$/.test(entry.name) ? [path] : [];
    });
  const folders = ["src", "keeper", "kernel", "web"];
  const paths = ["package-lock.json", "scripts/build.mjs", ...folders.flatMap(inside)];
  return Math.max(...paths.map(changedAt));
}

const lockPath = at(".ready.lock");

/** One at a time: two installs into one node_modules destroy each other. A dead owner's lock is taken over. */
async function lock() {
  for (let told = false; ; told = true) {
    try {
      return writeFileSync(lockPath, String(process.pid), { flag: "wx" });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (!alive(lockPath)) {
      unlock();
      continue;
    }
    if (!told) say("waiting for another process that is installing or building");
    await sleep(100);
  }
}

function alive(path) {
  try {
    return process.kill(Number(readFileSync(path, "utf8")), 0);
  } catch {
    return false;
  }
}

function unlock() {
  rmSync(lockPath, { force: true });
}
