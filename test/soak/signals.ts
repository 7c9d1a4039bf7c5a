/**
 * `npm start` is asked to end, at any moment: its process group or npm alone gets SIGTERM or SIGHUP, once or twice, or its terminal is closed.
 * In the long form also while it installs and builds, in a clone of its own. Nothing may be left: no process, no temporary folder, no lock.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pick, random } from "../support/data/random.ts";
import { filesIn, processesOf } from "../support/left.ts";
import { until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const HERE = fileURLToPath(new URL("../..", import.meta.url));
const SIGNALS = ["SIGTERM", "SIGHUP"] as const;
const TARGETS = ["group", "group", "npm", "terminal"] as const;
/** What is missing in the clone when it starts, and for how long that keeps it busy; the demo has judged its agents by the end of its time. */
const STAGES = {
  install: { missing: "node_modules", ms: 8000 },
  build: { missing: "dist", ms: 5000 },
  demo: { missing: "", ms: 12_000 },
};
type Stage = keyof typeof STAGES;

/** Whether this tree can be started as it is: packages that are installed anew would be missing to whoever works in it meanwhile. */
export function isTreeReady(): boolean {
  const script = "import { isReady } from './scripts/ready.mjs'; process.exit(isReady() ? 0 : 1)";
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], { cwd: HERE }).status === 0;
}

/** `count` moments for each signal, in this tree. */
export function signals(count: number, seed: number): Promise<Report> {
  return trial(count, seed, HERE, ["demo"]);
}

/** The same in a clone, where it may also be found installing or building. */
export async function signalsInClone(count: number, seed: number): Promise<Report> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-clone-")));
  try {
    execFileSync("git", ["clone", "--quiet", HERE, join(folder, "clone")]);
    execFileSync("node", ["scripts/run.mjs"], { cwd: join(folder, "clone"), stdio: "ignore" });
    return await trial(count, seed, join(folder, "clone"), ["install", "build", "demo", "demo"]);
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

function trial(count: number, seed: number, tree: string, stages: readonly Stage[]): Promise<Report> {
  return campaign("signals to npm start", SIGNALS.length * count, seed, async (fail, figures) => {
    const next = random(seed);
    for (const round of rounds(SIGNALS.length * count)) {
      const signal = SIGNALS[round % SIGNALS.length] as NodeJS.Signals;
      const stage = pick(next, stages);
      const moment = {
        signal,
        stage,
        afterMs: Math.round(next() * STAGES[stage].ms),
        twice: next() < 0.5,
        target: pick(next, TARGETS),
      };
      const left = await one(tree, moment, next);
      figures[`${stage} ${signal}`] = Number(figures[`${stage} ${signal}`] ?? 0) + 1;
      for (const what of left) fail(`round ${round}, ${JSON.stringify(moment)}: ${what}`);
    }
  });
}

interface Moment {
  signal: NodeJS.Signals;
  stage: Stage;
  afterMs: number;
  twice: boolean;
  target: (typeof TARGETS)[number];
}

/** What is left. */
async function one(
  tree: string,
  { signal, stage, afterMs, twice, target }: Moment,
  next: () => number,
): Promise<string[]> {
  const place = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-signals-")));
  if (STAGES[stage].missing !== "") rmSync(join(tree, STAGES[stage].missing), { recursive: true, force: true });
  mkdirSync(join(place, "tmp"));
  const [program, args] = target === "terminal" ? ["script", ["-qefc", "npm start", "/dev/null"]] : ["npm", ["start"]];
  const child = spawn(program as string, args as string[], {
    cwd: tree,
    detached: true,
    env: { ...process.env, TMPDIR: join(place, "tmp"), DISPLAY: "" },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await Promise.race([ended, sleep(afterMs)]);
  ask(child, signal, target);
  if (twice) {
    await sleep(next() * 1000);
    ask(child, signal, target);
  }
  await ended;
  const problems: string[] = [];
  await until(() => processesOf(place).length === 0, 30_000).catch(() => {
    for (const pid of processesOf(place)) {
      problems.push(`process ${pid}: ${titleOf(pid)}`);
      process.kill(Number(pid), "SIGKILL");
    }
  });
  problems.push(...filesIn(join(place, "tmp")).map((name) => `folder ${name}`));
  if (existsSync(join(tree, ".ready.lock"))) problems.push("the lock of the tree");
  rmSync(place, { recursive: true, force: true, maxRetries: 20 });
  return problems;
}

/** A terminal is closed when what is behind it dies. */
function ask({ pid = 0 }: ChildProcess, signal: NodeJS.Signals, target: Moment["target"]): void {
  try {
    process.kill(target === "group" ? -pid : pid, target === "terminal" ? "SIGKILL" : signal);
  } catch {
    // It has ended.
  }
}

function titleOf(pid: string): string {
  return execFileSync("ps", ["-o", "args=", "-p", pid], { encoding: "utf8" }).trim();
}
