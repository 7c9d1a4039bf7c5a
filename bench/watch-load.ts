/**
 * What the watch costs while 20 agents print 50 lines a second each: CPU time of `midwatch watch`, a process of its own, over some time in
 * which nothing else is asked of it. Beside it the same lines given to nothing but JSON.parse.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace, type RunRecord } from "../src/index.ts";
import { digits, times } from "./support/figures.ts";
import { cpuSeconds, ended, memoryKiB } from "./support/process.ts";
import { type Options, type Row, row } from "./support/row.ts";

const CLI = fileURLToPath(new URL("../src/doors/cli/midwatch.ts", import.meta.url));
const RATE = 50;
const MOST_PERCENT = 10;
const WARM_MS = 4000;

export async function bench({ dir, load, quick, say }: Options): Promise<Row[]> {
  const agents = quick ? 4 : 20;
  const windowMs = quick ? 4000 : 30_000;
  const bin = join(dir, "bin");
  mkdirSync(bin);
  copyFileSync(load("steps"), join(bin, "claude"));
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}`, BENCH_RATE: String(RATE) };
  const root = join(dir, "workspace");
  using workspace = openWorkspace({ workspace: root, make: true, env });
  const started: RunRecord[] = [];
  const watch = spawn(process.execPath, [CLI, "watch", "--json", "--workspace", root], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const over = ended(watch);
  try {
    const { task } = workspace.runs.makeTask("Make npm test pass");
    for (let i = 0; i < agents; i++)
      started.push(await workspace.runs.start({ driver: "claude", task, prompt: "Make all parts of npm test pass" }));
    await sleep(WARM_MS);
    say(`${agents} agents, ${windowMs / 1000} s`);
    const pid = watch.pid as number;
    const before = { cpu: cpuSeconds(pid), at: performance.now(), lines: linesOf(started) };
    await sleep(windowMs);
    const seconds = (performance.now() - before.at) / 1000;
    const cpu = cpuSeconds(pid) - before.cpu;
    const lines = linesOf(started);
    const fresh = lines - before.lines;
    const behind = lines - linesRead(workspace, started);
    const memory = memoryKiB(pid).resident / 1024;
    const parsed = parseSeconds(started, fresh);
    const share = (100 * cpu) / seconds;
    return [
      row({
        promise: "watch",
        figure: `${agents} agents that print ${RATE} lines a second each, through midwatch watch`,
        measured: `${digits(share)} % of a core, ${digits((1e6 * cpu) / fresh)} µs a line`,
        peer: `JSON.parse of the lines: ${digits((100 * parsed) / seconds)} % of a core`,
        ratio: `${times(cpu / parsed)} JSON.parse`,
        bar: `≤ ${MOST_PERCENT} %`,
        holds: quick ? null : share <= MOST_PERCENT,
        note: `over ${digits(seconds)} s; ${digits(fresh / seconds)} lines a second in all; ${behind} lines behind at the end; ${digits(memory)} MiB`,
      }),
    ];
  } finally {
    watch.kill("SIGTERM");
    await over;
    await workspace.runs.stop(
      started.map(({ agent }) => agent),
      { graceMs: 0 },
    );
  }
}

function linesOf(runs: readonly RunRecord[]): number {
  return runs.reduce((sum, { log }) => sum + readFileSync(log, "latin1").split("\n").length - 1, 0);
}

/** As the registry knows it. */
function linesRead(workspace: ReturnType<typeof openWorkspace>, runs: readonly RunRecord[]): number {
  const ours = new Set(runs.map(({ agent }) => agent));
  return workspace.verdicts.positions
    .all()
    .filter(({ agent }) => ours.has(agent))
    .reduce((sum, { line }) => sum + line, 0);
}

function parseSeconds(runs: readonly RunRecord[], count: number): number {
  const texts = runs.flatMap(({ log }) => readFileSync(log, "utf8").trimEnd().split("\n")).slice(-count);
  const begun = performance.now();
  for (const text of texts) JSON.parse(text);
  return (performance.now() - begun) / 1000;
}
