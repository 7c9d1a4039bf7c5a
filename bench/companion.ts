/** What it costs that somebody watches: memory and idle CPU of the companion beside ten live agents with limits, and of `midwatch up` for the same. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "../src/index.ts";
import { digits, times } from "./support/figures.ts";
import { cpuNs, kill, memoryKiB, until } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
const AGENTS = 10;
const SETTLE_MS = 15_000;

interface Cost {
  mb: number;
  /** Percent of a core. */
  cpu: number;
}

export async function bench(options: Options): Promise<Row[]> {
  const seconds = options.quick ? 10 : 30;
  const root = join(options.dir, "workspace");
  const workspace = openWorkspace({ workspace: root, make: true });
  let up: ChildProcess | undefined;
  try {
    options.say(`${AGENTS} agents with a limit of tokens`);
    const argv = [BUNDLE, "--workspace", workspace.root, "run", "--limit-tokens", "1000000", "--", "sleep", "600"];
    for (let i = 0; i < AGENTS; i++) execFileSync(process.execPath, argv, { stdio: "ignore" });
    const companion = await until("the companion", () => companionOf(workspace.root), 20_000);
    const ours = await cost(companion, seconds, options);
    up = spawn(process.execPath, [BUNDLE, "up", "--no-http", "--workspace", workspace.root], { stdio: "ignore" });
    await until("up has its place", () => companionOf(workspace.root) === undefined, 20_000);
    const theirs = await cost(up.pid as number, seconds, options);
    const made = (figure: string, measured: number, peer: number, most: number, unit: string): Row =>
      row({
        promise: "companion",
        figure,
        measured: `${digits(measured)}${unit}`,
        peer: `\`midwatch up --no-http\` for the same: ${digits(peer)}${unit}`,
        ratio: times(measured / peer),
        ...atMost(measured, most, unit),
        note: `${AGENTS} live agents with a limit of tokens, ${seconds} s after ${SETTLE_MS / 1000} s`,
      });
    return [
      made("memory of the companion", ours.mb, theirs.mb, 70, " MB"),
      made("idle CPU of the companion", ours.cpu, theirs.cpu, 0.5, " % of a core"),
    ];
  } finally {
    if (up?.pid !== undefined) kill(up.pid, "SIGKILL");
    const left = (await workspace.runs.list()).filter(({ outcome }) => outcome === null).map(({ agent }) => agent);
    await workspace.runs.stop(left, { graceMs: 0 });
    await until("the companion goes", () => companionOf(workspace.root) === undefined, 20_000);
    workspace.close();
  }
}

async function cost(pid: number, seconds: number, { say }: Options): Promise<Cost> {
  await sleep(SETTLE_MS);
  say(`${seconds} s of process ${pid}`);
  const before = cpuNs([pid]);
  await sleep(seconds * 1000);
  return { mb: (memoryKiB(pid).resident * 1024) / 1e6, cpu: ((cpuNs([pid]) - before) / 1e9 / seconds) * 100 };
}

function companionOf(root: string): number | undefined {
  return readdirSync("/proc")
    .map(Number)
    .find((pid) => {
      try {
        return pid > 1 && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`\0companion\0watch\0${root}\0`);
      } catch {
        return false;
      }
    });
}
