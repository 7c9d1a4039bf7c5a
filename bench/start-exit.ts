/**
 * A start is known within 40 ms, an exit within 10 ms (50 ms on a loaded machine). Times are seen from outside: a C
 * program watches the folders by inotify, the agent writes down the moment of its exit, all on the monotonic clock. Times
 * of files would not do: the kernel stamps them with a clock that ticks each 4 ms.
 */
import { execFileSync } from "node:child_process";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace, type Workspace } from "../src/index.ts";
import { both, digits, median, ms, quantile } from "./support/figures.ts";
import { finish, nowNs, type Ready, startReady } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const CLI = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
/** How long each agent lives: long enough for its start to be over. */
const LIFE_MS = 60;
const REPLACES = 50;

interface Round {
  intent: number;
  claim: number;
  started: number;
  call: number;
  exit: number;
  done: number;
}

export async function bench(options: Options): Promise<Row[]> {
  const rounds = options.quick ? 10 : 50;
  const workspace = openWorkspace({ workspace: join(options.dir, "workspace"), make: true });
  const watch = await startReady(options.load("watch"), [workspace.root]);
  try {
    await measure(options, workspace, watch, 3); // warm up: code, database, task folder
    options.say(`${rounds} starts and exits`);
    const quiet = await measure(options, workspace, watch, rounds);
    const busy = 2 * availableParallelism();
    options.say(`the same beside ${busy} busy loops`);
    const spinners = Array.from({ length: busy }, () => startSpinner(options));
    const loaded = await measure(options, workspace, watch, Math.ceil(rounds / 2)).finally(async () => {
      for (const spinner of spinners) await finish(await spinner);
    });
    const floor = Array.from({ length: REPLACES }, () => replaceOnce(options.dir));
    return [...startRows(quiet, floor), ...exitRows(quiet, loaded, busy), await commandRow(options, workspace)];
  } finally {
    workspace.close();
    await finish(watch);
  }
}

async function startSpinner(options: Options): Promise<Ready> {
  return startReady("sh", ["-c", 'echo ready; exec "$0"', options.load("spin")]);
}

async function measure(options: Options, workspace: Workspace, watch: Ready, rounds: number): Promise<Round[]> {
  const task = workspace.runs.makeTask("bench").task;
  const side = join(options.dir, "exit-time");
  const results: Round[] = [];
  for (let i = 0; i < rounds; i++) {
    const begun = nowNs();
    const run = await workspace.runs.start({ argv: [options.load("end"), side, String(LIFE_MS), "0"], task });
    const call = nowNs() - begun;
    await workspace.runs.wait([run.agent], { timeoutMs: 30_000 });
    await sleep(20); // the watcher's lines
    const folder = `/runs/${run.agent}/${run.run}/`;
    const seen = (name: string): number => lastSeen(watch.text, `${folder}${name}`);
    const exited = Number(readFileSync(side, "utf8"));
    results.push({
      intent: (seen("intent.json") - begun) / 1e6,
      claim: (seen("claim") - begun) / 1e6,
      started: (seen("start.json") - begun) / 1e6,
      call: call / 1e6,
      exit: (seen("exit.json") - exited) / 1e6,
      done: (seen("done.json") - exited) / 1e6,
    });
    watch.text = "";
  }
  return results;
}

/** Created and closed after writing are two events; the later one is behind the fsync. */
function lastSeen(text: string, path: string): number {
  const lines = text.split("\n").filter((line) => line.endsWith(path));
  const time = Number(lines.at(-1)?.split(" ")[0]);
  if (!time) throw new Error(`${path} was not seen`);
  return time;
}

/** What one durable fact costs here at best: write, fsync, rename, fsync of the folder. */
function replaceOnce(dir: string): number {
  const begun = nowNs();
  const fd = openSync(join(dir, "floor.tmp"), "w", 0o600);
  writeSync(fd, `${"x".repeat(200)}\n`);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(join(dir, "floor.tmp"), join(dir, "floor"));
  const folder = openSync(dir, "r");
  fsyncSync(folder);
  closeSync(folder);
  return (nowNs() - begun) / 1e6;
}

const spread = (values: readonly number[]): string => `median ${ms(median(values))}, p95 ${ms(quantile(values, 0.95))}`;

function startRows(rounds: readonly Round[], floor: readonly number[]): Row[] {
  const of = (key: keyof Round): number[] => rounds.map((round) => round[key]);
  return [
    row({
      promise: "start",
      figure: "run() called → the keeper's claim is synced",
      measured: spread(of("claim")),
      peer: `one bare write + fsync + rename + fsync: ${spread(floor)}`,
      ...atMost(median(of("claim")), 40, " ms"),
      note: `${rounds.length} rounds; the launcher's intent.json is there at ${digits(median(of("intent")))} ms, start.json at ${digits(median(of("started")))} ms`,
    }),
    row({ promise: "start", figure: "the whole run() call", measured: spread(of("call")) }),
  ];
}

function exitRows(quiet: readonly Round[], loaded: readonly Round[], busy: number): Row[] {
  const exits = quiet.map(({ exit }) => exit);
  const under = loaded.map(({ exit }) => exit);
  return [
    row({
      promise: "exit",
      figure: "the agent's exit → exit.json",
      measured: spread(exits),
      ...atMost(median(exits), 10, " ms"),
      note: `${quiet.length} rounds; done.json, with the proof, after ${digits(median(quiet.map(({ done }) => done)))} ms`,
    }),
    row({
      promise: "exit",
      figure: `the same beside ${busy} busy loops`,
      measured: spread(under),
      ...atMost(median(under), 50, " ms"),
      note: `${loaded.length} rounds; start: claim after ${digits(median(loaded.map(({ claim }) => claim)))} ms`,
    }),
  ];
}

async function commandRow(options: Options, workspace: Workspace): Promise<Row> {
  const time = (args: readonly string[]): number => {
    const begun = performance.now();
    execFileSync(process.execPath, args, { cwd: options.dir, stdio: "ignore" });
    return performance.now() - begun;
  };
  const list = ["ls", "--workspace", workspace.root];
  const ls: number[] = [];
  const bare: number[] = [];
  time([CLI, ...list]);
  for (let i = 0; i < 7; i++) {
    ls.push(time([CLI, ...list]));
    bare.push(time(["-e", "0"]));
  }
  return row({
    promise: "command line",
    figure: "midwatch ls, whole process",
    measured: both(ls, " ms"),
    peer: `node -e 0: ${both(bare, " ms")}`,
    note: `a workspace with ${(await workspace.runs.list({ all: true })).length} ended agents`,
  });
}
