/**
 * The registry with 8 processes that write all the time: nothing is lost, and it is 20 times the seeds' way (a lock, read
 * the whole JSON, write it anew, fsync, rename), a change beside a change and a new agent beside a new agent. What was written is compared with what is found afterwards.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../src/core/config/config.ts";
import { Registry } from "../src/registry/registry.ts";
import { best, digits, interleave, median, times } from "./support/figures.ts";
import { ended } from "./support/process.ts";
import { type Options, type Row, row } from "./support/row.ts";
import { agentRow, runRow } from "./support/rows.ts";

export type Way = "putRun" | "insertRun" | "json put" | "json insert";

export interface Order {
  way: Way;
  path: string;
  ms: number;
  agents: readonly string[];
}

export interface Done {
  transactions: number;
  /** The last value written for each agent. */
  written: Record<string, number>;
}

const WORKER = new URL("./load/registry-worker.ts", import.meta.url);
const PROCESSES = 8;
const AGENTS = Array.from({ length: 100 }, (_, i) => `agent-${String(i).padStart(3, "0")}`);
const ROUNDS = 5;
const BAR = 20;
const inserts = (way: Way): boolean => way === "insertRun" || way === "json insert";

export async function bench(options: Options): Promise<Row[]> {
  const workers = Array.from({ length: PROCESSES }, () => fork(WORKER));
  const rates: Record<Way, number[]> = { putRun: [], insertRun: [], "json put": [], "json insert": [] };
  const lost: Record<Way, number> = { putRun: 0, insertRun: 0, "json put": 0, "json insert": 0 };
  const ways = Object.keys(rates) as Way[];
  const round = (way: Way, ms: number, counts: boolean) => async (): Promise<void> => {
    const { rate, missing } = await race(options, workers, way, ms);
    if (counts) rates[way].push(rate);
    lost[way] += missing;
  };
  try {
    for (const way of ways) await round(way, 100, false)(); // warm up
    options.say(`${PROCESSES} processes, ${ROUNDS} rounds of ${ways.join(", ")}`);
    const ms = options.quick ? 300 : 1000;
    await interleave(Object.fromEntries(ways.map((way) => [way, round(way, ms, true)])), ROUNDS);
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map((worker) => (worker.signalCode === null ? ended(worker) : 0)));
  }
  return (["putRun", "insertRun"] as const).map((way) => ourRow(way, rates, lost));
}

function ourRow(way: "putRun" | "insertRun", rates: Record<Way, number[]>, lost: Record<Way, number>): Row {
  const theirs = way === "putRun" ? "json put" : "json insert";
  const ratio = median(rates[way]) / median(rates[theirs]);
  const speed = (values: readonly number[]): string =>
    `best ${digits(-best(values.map((v) => -v)))}/s, median ${digits(median(values))}/s`;
  return row({
    promise: "registry",
    figure: `${way}, ${PROCESSES} processes, 100 agents${way === "putRun" ? "" : " at first"}`,
    measured: `${speed(rates[way])}; ${lost[way]} lost`,
    peer: `lock + rewrite + fsync of JSON: ${speed(rates[theirs])}; ${lost[theirs]} lost`,
    ratio: times(ratio),
    bar: `≥ ${BAR} x, 0 lost`,
    holds: ratio >= BAR && lost[way] === 0,
    note: "a transaction is not synced by itself (WAL, NORMAL): the registry is an index and is made again from the synced facts",
  });
}

/** All workers at once for a time. */
async function race(
  options: Options,
  workers: readonly ChildProcess[],
  way: Way,
  ms: number,
): Promise<{ rate: number; missing: number }> {
  const path = join(options.dir, way.startsWith("json") ? "registry.json" : "registry.db");
  fill(path, way);
  const tell = async (worker: ChildProcess, message: Order | "go"): Promise<unknown> => {
    const answer = once(worker, "message", { signal: AbortSignal.timeout(60_000) });
    worker.send(message);
    return (await answer)[0];
  };
  const agents = (index: number): string[] => AGENTS.filter((_, i) => i % PROCESSES === index);
  await Promise.all(workers.map((worker, i) => tell(worker, { way, path, ms, agents: agents(i) })));
  const begun = performance.now();
  const done = (await Promise.all(workers.map((worker) => tell(worker, "go")))) as Done[];
  const seconds = (performance.now() - begun) / 1000;
  const total = done.reduce((sum, { transactions }) => sum + transactions, 0);
  const there = found(path, way);
  const missing = inserts(way) ? total - (there.size - AGENTS.length) : differing(there, done);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
  return { rate: total / seconds, missing };
}

/** 100 agents to begin with. */
function fill(path: string, way: Way): void {
  if (way.startsWith("json")) {
    writeFileSync(path, JSON.stringify({ agents: AGENTS.map((id) => ({ ...agentRow(id), ...runRow(id) })) }, null, 2));
    return;
  }
  const registry = Registry.open(path);
  for (const id of AGENTS) registry.insertRun(agentRow(id), runRow(id), loadConfig());
  registry.close();
}

/** What is there now: bytes by agent. */
function found(path: string, way: Way): Map<string, number> {
  if (way.startsWith("json")) {
    const { agents } = JSON.parse(readFileSync(path, "utf8")) as { agents: { agent: string; bytes: number }[] };
    return new Map(agents.map(({ agent, bytes }) => [agent, bytes]));
  }
  return new Map(listed(path).map(({ agent, bytes }) => [agent, bytes]));
}

function listed(path: string): { agent: string; bytes: number }[] {
  const registry = Registry.open(path);
  try {
    return registry.list({ all: true }).map(({ run }) => run);
  } finally {
    registry.close();
  }
}

function differing(there: ReadonlyMap<string, number>, done: readonly Done[]): number {
  const written = done.flatMap((one) => Object.entries(one.written));
  return written.filter(([agent, value]) => there.get(agent) !== value).length;
}
