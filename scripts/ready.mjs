// Makes a clone ready to run: a new enough Node, installed packages, a fresh build. Plain JS that Node 18 can run.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { atEnd, step } from "./step.mjs";

export const root = fileURLToPath(new URL("..", import.meta.url));
const at = (path) => join(root, path);
const nodePath = at("node_modules/.cache/midwatch/node");

/** For people; stdout belongs to the program that runs afterwards. */
export const say = (line) => process.stderr.write(`midwatch: ${line}\n`);

const MINUTE_MS = 60_000;
/** A step that takes longer hangs: at a network that drops everything, mostly. */
const LIMIT_MS = 15 * MINUTE_MS;

/** Brings everything up to date, puts the right Node and the installed tools first on PATH, returns that Node. */
export async function ready({ mayInstall = true } = {}) {
  await lock();
  try {
    const node = await findNode();
    process.env.PATH = [dirname(node), at("node_modules/.bin"), process.env.PATH].join(delimiter);
    if (!isInstalled()) await install();
    mkdirSync(dirname(nodePath), { recursive: true });
    writeFileSync(nodePath, `${node}\n`);
    if (!isBuilt()) await build(node, mayInstall);
    unlock();
    return node;
  } catch (error) {
    unlock();
    say(error.message);
    process.exit(5);
  }
}

const isInstalled = () => changedAt("node_modules/.package-lock.json") >= changedAt("package-lock.json");
const isBuilt = () => changedAt("dist/midwatch.js") >= sourcesChangedAt();

/** Whether `ready` would have nothing to do. */
export const isReady = () => isInstalled() && isBuilt();

export function isNodeNewEnough() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

async function findNode() {
  if (isNodeNewEnough()) return process.execPath;
  const known = existsSync(nodePath) ? readFileSync(nodePath, "utf8").trim() : "";
  if (existsSync(known)) return known;
  say(`Node ${process.versions.node} is older than 22.18: getting Node 24 from npm (once, about 20 s)`);
  const command = ["npm", "exec", "--yes", "--package=node@24", "--", "node", "-p", "process.execPath"];
  const { code, output } = await step(command, { cwd: root, gather: true, limitMs: LIMIT_MS });
  const found = output.split("\n").findLast((line) => line !== "" && existsSync(line)); // npm has notices, too
  if (code === 0 && found !== undefined) return found;
  throw new Error(`npm could not fetch Node 24. Next: install Node 22.18 or newer.\n${output}`);
}

async function install() {
  // npm ci empties the folder behind a link, which is somebody else's, and then puts a new one in the link's place.
  if (lstatSync(at("node_modules"), { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      "node_modules is a link and older than package-lock.json. Next: npm ci in the folder that it belongs to.",
    );
  say("installing packages with npm ci (about 20 s)");
  await run(
    "npm",
    ["ci", "--no-progress", "--loglevel=error"],
    "npm ci failed. Next: check the network, then try again.",
  );
}

async function build(node, mayInstall) {
  await needCommands(["gcc", "make"], mayInstall);
  say("building");
  await run(node, ["scripts/build.mjs"], "The build failed; the lines above say where.");
}

async function run(command, args, hint) {
  const { code, expired } = await step([command, ...args], { cwd: root, limitMs: LIMIT_MS });
  if (expired) throw new Error(`${command} ${args[0]} was ended: it took more than ${LIMIT_MS / MINUTE_MS} minutes.`);
  if (code !== 0) throw new Error(hint);
}

/** Where the package is called otherwise. */
const PACKAGE_OF = { rg: "ripgrep", inotifywait: "inotify-tools", "qemu-aarch64-static": "qemu-user-static" };

/** Debian packages for those of these commands that are missing here. */
export function missingPackages(commands) {
  const missing = commands.filter((command) => !onPath(command)).map((command) => PACKAGE_OF[command] ?? command);
  return missing.includes("gcc") ? [...missing, "libc6-dev"] : missing;
}

export const mayInstallPackages = () => process.getuid?.() === 0 && onPath("apt-get");

/** Installs what is missing if we may; else says how. Returns what is still missing. */
export async function needCommands(commands, mayInstall = true) {
  const missing = missingPackages(commands);
  if (missing.length === 0) return [];
  const next = `apt-get install ${missing.join(" ")}`;
  if (!mayInstall || !mayInstallPackages()) {
    say(`missing here, going on without. Next: sudo ${next}`);
    return missing;
  }
  say(`installing ${missing.join(" ")} with apt-get`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args) => step(["apt-get", "-qq", ...args], { env, limitMs: LIMIT_MS });
  await apt("update"); // a fresh image has no package lists; stale ones may still do
  const { code, expired } = await apt("install", "-y", "--no-install-recommends", ...missing);
  if (code !== 0) say(`apt-get ${expired ? "took too long" : "failed"}, going on without. Next: ${next}`);
  return missingPackages(commands);
}

function onPath(command) {
  return process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, command)));
}

function changedAt(path) {
  return statSync(at(path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The build reads none of these. */
const TEST = /\.test\.ts$|^keeper\/test\//;

/** The time of the newest file that the build reads. The `find` in ./midwatch asks the same question. */
function sourcesChangedAt() {
  const inside = (folder) =>
    readdirSync(at(folder), { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return inside(path);
      return /\.(tsx?|css|html|svg|mjs|c|h)$|^Makefile$/.test(entry.name) && !TEST.test(path) ? [path] : [];
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
      writeFileSync(lockPath, String(process.pid), { flag: "wx" });
      return atEnd(unlock);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (!alive(ownerOf(lockPath))) {
      rmSync(lockPath, { force: true });
      continue;
    }
    if (!told) say("waiting for another process that is installing or building");
    await sleep(100);
  }
}

function ownerOf(path) {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch {
    return 0;
  }
}

function alive(pid) {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Only one's own: it is called at the end too, when another may have it. */
function unlock() {
  if (ownerOf(lockPath) === process.pid) rmSync(lockPath, { force: true });
}
