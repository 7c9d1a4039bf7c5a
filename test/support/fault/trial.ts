/**
 * One trial: a keeper with one shape of the zoo, stopped at a random moment, and a look at what is really left. Nothing here
 * believes the keeper: the zoo's own list of processes, /proc and the disk decide.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { checkIndex } from "../data/index-check.ts";
import { patient } from "../patience.ts";
import { isAlive, type Life, lifeOf, livesIn, zoo } from "./zoo.ts";

export type Tier = "auto" | "subreaper";

export interface Trial {
  tier: Tier;
  shape: readonly string[];
  delayMs: number;
  graceMs: number;
  /** Only stop.json, no signal: the keeper has to find it by itself. */
  unsignalled?: boolean;
  /** The keeper is killed first, and a second one takes the run over. */
  takeOver?: boolean;
}

export interface TrialResult extends Trial {
  guarantee: string;
  /** All that lived, not only those at the stop. */
  processes: number;
  /** From the stop to done.json. */
  tookMs: number;
  /** Empty when all is well. */
  problems: string[];
}

interface StartFact {
  keeper: { pid: number; start_ticks: number };
  guarantee: string;
  cgroup: string | null;
  exec_error: unknown;
}

interface DoneFact {
  verified: boolean;
  left: unknown[];
  log_bytes: number;
  log_lines: number;
}

const AGENT = "zoo-000000-abcdef";
const keeperBinary =
  process.env["MIDWATCH_KEEPER"] ?? fileURLToPath(new URL("../../../dist/midwatch-keeper", import.meta.url));

/** The paths of one run in a workspace of its own. */
class Place {
  readonly top: string = mkdtempSync("/tmp/midwatch-trial-");
  readonly root: string = join(this.top, ".agent-workspace");
  readonly dir: string = join(this.root, "T", "runs", AGENT, "1");
  readonly log: string = join(this.root, "T", "logs", `${AGENT}_stream.jsonl`);
  readonly err: string = join(this.root, "T", "logs", `${AGENT}_stderr.log`);
  readonly idx: string = join(this.root, "T", "logs", `${AGENT}_stream.idx`);
  readonly pids: string = join(this.top, "pids");
  readonly nonce: string = randomBytes(16).toString("hex");

  constructor() {
    for (const path of [this.dir, join(this.root, "active")]) mkdirSync(path, { recursive: true });
    writeFileSync(join(this.root, "active", `${AGENT}.1`), `T/runs/${AGENT}/1\n`);
    writeFileSync(this.pids, "");
  }

  fact<T>(name: string): T | undefined {
    const path = join(this.dir, name);
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : undefined;
  }
}

export async function runTrial(trial: Trial): Promise<TrialResult> {
  const place = new Place();
  const problems: string[] = [];
  const result: TrialResult = { ...trial, guarantee: "none", processes: 0, tookMs: 0, problems };
  let innocent: ChildProcess | undefined;
  try {
    let start = await startKeeper(place, trial, "run");
    result.guarantee = start.guarantee;
    if (start.exec_error !== null) problems.push(`not started: ${JSON.stringify(start.exec_error)}`);
    innocent = spawn(zoo(), ["innocent", AGENT, "claude", place.nonce], {
      cwd: place.top,
      env: { ZOO_OPEN: place.log },
      stdio: "ignore",
    });
    const bystander = lifeOf(innocent.pid ?? 0);
    await sleep(trial.delayMs);
    if (trial.takeOver) start = { ...start, keeper: await replaceKeeper(place, trial, start) };
    const asked = performance.now();
    stop(place, start, trial);
    const done = await doneWithin(place, trial.graceMs + patient(15_000));
    result.tookMs = Math.round(performance.now() - asked);
    result.processes = livesIn(place.pids).length;
    await verify(place, start, done, problems);
    if (!isAlive(bystander)) problems.push("an innocent was ended");
  } catch (error) {
    problems.push(String(error));
  } finally {
    innocent?.kill("SIGKILL");
    cleanUp(place);
  }
  return result;
}

async function replaceKeeper(place: Place, trial: Trial, { keeper }: StartFact): Promise<StartFact["keeper"]> {
  const first = { pid: keeper.pid, startTicks: keeper.start_ticks };
  if (!isAlive(first)) return keeper; // Main ended by itself, and all is over.
  process.kill(keeper.pid, "SIGKILL");
  while (isAlive(first)) await sleep(1);
  if (place.fact("done.json")) return keeper;
  await startKeeper(place, trial, "adopt");
  return place.fact<StartFact["keeper"]>("adopt.json") ?? keeper;
}

function startKeeper(place: Place, trial: Trial, verb: "run" | "adopt"): Promise<StartFact> {
  const orders = [
    `dir=${place.dir}`,
    `root=${place.root}`,
    `log=${place.log}`,
    `err=${place.err}`,
    `idx=${place.idx}`,
    `tier=${trial.tier}`,
    "grace_ms=1000",
    `cwd=${place.top}`,
    `env=ZOO_PIDS=${place.pids}`,
    `env=MIDWATCH_AGENT=${AGENT}`,
    "env=MIDWATCH_RUN=1",
    ...[zoo(), ...trial.shape].map((argument) => `arg=${argument}`),
  ];
  const keeper = spawn(keeperBinary, [verb, `${AGENT}.1`, place.nonce], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  keeper.unref();
  keeper.stdin.end(`${orders.map((order) => `${order}\0`).join("")}end\0`);
  return new Promise((resolve, reject) => {
    let answer = "";
    keeper.once("error", reject);
    keeper.stdout.setEncoding("utf8");
    keeper.stdout.on("data", (part: string) => {
      answer += part;
      if (answer.includes("\n")) resolve(JSON.parse(answer) as StartFact);
    });
    keeper.stdout.once("end", () => reject(new Error(`the keeper ended with the answer ${JSON.stringify(answer)}`)));
  });
}

function stop(place: Place, { keeper }: StartFact, { graceMs, unsignalled }: Trial): void {
  const path = join(place.dir, "stop.json");
  writeFileSync(`${path}.new`, `${JSON.stringify({ v: 1, reason: "trial", grace_ms: graceMs })}\n`);
  renameSync(`${path}.new`, path);
  if (unsignalled || !isAlive({ pid: keeper.pid, startTicks: keeper.start_ticks })) return;
  process.kill(keeper.pid, "SIGTERM");
}

async function doneWithin(place: Place, ms: number): Promise<DoneFact> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(3)) {
    const done = place.fact<DoneFact>("done.json");
    if (done) return done;
  }
  throw new Error(`no done.json after ${ms} ms; ${JSON.stringify(place.fact("stuck.json"))}`);
}

async function verify(place: Place, start: StartFact, done: DoneFact, problems: string[]): Promise<void> {
  const say = (problem: string): number => problems.push(problem);
  // At once: whoever is alive now was alive when the keeper said that nobody is.
  for (const life of livesIn(place.pids)) if (isAlive(life)) say(`process ${life.pid} is alive: ${titleOf(life)}`);
  if (!done.verified || done.left.length > 0) say(`done.json: ${JSON.stringify(done)}`);
  if (!place.fact("exit.json")) say("no exit.json");
  if (start.cgroup && existsSync(start.cgroup)) say(`the cgroup ${start.cgroup} is left`);
  if (existsSync(`/tmp/mw-${place.nonce}`)) say(`the folder /tmp/mw-${place.nonce} is left`);
  verifyLog(place, done, say);
  const keeper = { pid: start.keeper.pid, startTicks: start.keeper.start_ticks };
  for (const end = performance.now() + patient(1000); isAlive(keeper) && performance.now() < end; ) await sleep(5);
  if (isAlive(keeper)) say("the keeper did not end");
}

/** Every line whole, every worker's numbers without a gap, and index and counts true. */
function verifyLog(place: Place, done: DoneFact, say: (problem: string) => void): void {
  const text = readFileSync(place.log, "latin1");
  if (done.log_bytes !== text.length) say(`log_bytes ${done.log_bytes} of ${text.length}`);
  if (done.log_lines !== text.split("\n").length - 1)
    say(`log_lines ${done.log_lines} of ${text.split("\n").length - 1}`);
  const next = new Map<string, number>();
  for (const line of text.split("\n").slice(0, -1)) {
    const { zoo: shape, pid, n } = JSON.parse(line) as { zoo?: string; pid?: number; n?: number };
    if (n === undefined) continue;
    const worker = `${shape} ${pid}`;
    if (n !== (next.get(worker) ?? 0)) say(`line ${n} of ${worker} where ${next.get(worker) ?? 0} was due`);
    next.set(worker, n + 1);
  }
  for (const problem of checkIndex(readFileSync(place.log), readFileSync(place.idx))) say(`index: ${problem}`);
}

function titleOf({ pid }: Life): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
  } catch {
    return "just gone";
  }
}

/** Also after a failure: nothing stays behind. Signals go only to what the zoo itself listed. */
function cleanUp(place: Place): void {
  const start = place.fact<StartFact>("start.json");
  const keeper = start && { pid: start.keeper.pid, startTicks: start.keeper.start_ticks };
  const lives = livesIn(place.pids);
  for (const life of [...(keeper ? [keeper] : []), ...lives]) if (isAlive(life)) process.kill(life.pid, "SIGKILL");
  for (const { pid } of lives) removeFolder(`/sys/fs/cgroup/pids/zoo-${pid}`);
  if (start?.cgroup) removeFolder(start.cgroup);
  rmSync(place.top, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
}

function removeFolder(path: string): void {
  try {
    if (existsSync(path)) rmdirSync(path);
  } catch {
    // Its last process is still leaving; an empty cgroup harms nobody.
  }
}
