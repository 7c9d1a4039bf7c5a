// Runs what a script starts: each step in a process group of its own, so that all of it can be ended. That happens when its time is
// over, and when this process is asked to end (Ctrl-C, SIGTERM, a closed terminal). Plain JS that Node 18 can run.
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
/** From SIGTERM to SIGKILL. */
const GRACE_MS = 5000;
/** In the environment of all that a step starts: what left its group is found by it. */
const MARK = "STEP_MARK";

const running = new Set();
const last = [];
let ending;

/** What has to be done when a signal ends this process. */
export const atEnd = (act) => void last.push(act);

/**
 * Runs a command to its end and tells `{ code, expired, output }`.
 * limitMs: its time. gather: its output is kept, not shown. show: where it goes instead. decides: it gets the signals themselves and ends
 * as it likes. alone: it has a temporary folder of its own, and when it ends, nothing that it started or wrote there stays.
 */
export async function step([command, ...args], options) {
  const { limitMs, gather = false, decides = false, alone = false, show = [2, 2], cwd, env } = options;
  listen();
  if (ending !== undefined) await never();
  const one = { mark: randomUUID(), decides, alone, folder: undefined, expired: false, child: undefined };
  if (alone) {
    one.folder = mkdtempSync(join(tmpdir(), "midwatch-"));
    chmodSync(one.folder, 0o755); // As /tmp is: another user may look for a file whose name is known.
  }
  one.child = spawn(command, args, {
    cwd,
    // A step of a step has the marks of both.
    env: {
      ...process.env,
      ...(alone ? { TMPDIR: one.folder } : {}),
      ...env,
      [MARK]: [process.env[MARK], one.mark].join(),
    },
    stdio: decides ? "inherit" : ["ignore", ...(gather ? ["pipe", "pipe"] : show)],
    detached: true,
  });
  running.add(one);
  const printed = [];
  for (const stream of [one.child.stdout, one.child.stderr]) stream?.on("data", (part) => printed.push(part));
  const timer = limitMs === undefined ? undefined : setTimeout(() => expire(one), limitMs);
  const code = await new Promise((resolve) => {
    one.child.on("error", () => resolve(127));
    one.child.on(gather ? "close" : "exit", (status, signal) => resolve(status ?? 128 + constants.signals[signal]));
  });
  clearTimeout(timer);
  running.delete(one);
  if (alone || one.expired || (ending !== undefined && !decides)) sweep(one);
  if (ending !== undefined) await leave();
  return { code, expired: one.expired, output: Buffer.concat(printed).toString() };
}

const never = () => new Promise(() => {});

function expire(one) {
  one.expired = true;
  end(one);
}

/** Politely, then not. */
function end(one) {
  signalGroup(one, "SIGTERM");
  setTimeout(() => {
    if (!running.has(one)) return;
    signalGroup(one, "SIGKILL");
    killMarked(one.mark);
  }, GRACE_MS).unref();
}

function signalGroup({ child }, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}

/** What a step left behind: processes in other groups, mounts, its folder. */
function sweep({ mark, folder }) {
  // A keeper may start one more before its own turn comes.
  for (let round = 0; round < 10 && killMarked(mark); round++) spawnSync("sleep", ["0.05"]);
  if (folder === undefined) return;
  const mounts = textOf("/proc/self/mounts").split("\n");
  const below = mounts.map((line) => line.split(" ")[1] ?? "").filter((path) => path.startsWith(`${folder}/`));
  for (const path of below.reverse()) spawnSync("umount", ["-l", path]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Whether there were any. Without /proc none is found. */
function killMarked(mark) {
  let found = false;
  for (const pid of processes()) {
    const environment = textOf(`/proc/${pid}/environ`);
    if (!environment.includes(mark)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
      found = true;
    } catch {
      // It has ended.
    }
    // The folder that its keeper would have removed.
    const [, folder] = /\0TMPDIR=(\/tmp\/mw-[0-9a-f]{32})\0/.exec(environment) ?? [];
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
  return found;
}

function processes() {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  } catch {
    return [];
  }
}

function textOf(path) {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

let listens = false;
function listen() {
  if (listens) return;
  listens = true;
  for (const signal of SIGNALS) process.on(signal, () => asked(signal));
  if (!process.env.npm_lifecycle_event) return;
  const look = () => isOrphan() && asked("SIGHUP");
  setInterval(look, 200).unref();
  look();
}

const parent = process.ppid;

/**
 * npm dies of a SIGHUP and passes none on. It is our parent: the scripts in package.json say exec. It may have died before we began: whoever
 * took us in then is of another session, and we lead none.
 */
function isOrphan() {
  const [own, others] = [sessionOf(process.pid), sessionOf(parent)];
  return process.ppid !== parent || (others !== "" && own !== others && own !== String(process.pid));
}

/** Empty where /proc does not tell. */
const sessionOf = (pid) => textOf(`/proc/${pid}/stat`).split(") ").at(-1).split(" ")[3] ?? "";

/** The same signal may come from the terminal, from npm and from the group: it is passed on once. */
function asked(signal) {
  if (ending !== undefined) return;
  ending = 128 + constants.signals[signal];
  for (const one of running) {
    if (one.decides) one.child.kill(signal);
    else end(one);
  }
  if (running.size === 0) void leave();
}

async function leave() {
  if (running.size > 0) await never();
  for (const act of last) act();
  process.exit(ending);
}
