// One of the processes of bench/registry.ts. Told by messages: opens, says "ready", works for a time at "go", sends what it
// did: for each of its agents the last value written, or the number of rows inserted.
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmdirSync, writeSync } from "node:fs";
import { loadConfig } from "../../src/core/config.ts";
import { Registry } from "../../src/registry/registry.ts";
import type { Done, Order } from "../registry.ts";
import { agentRow, runRow } from "../support/rows.ts";

const clock = new Int32Array(new SharedArrayBuffer(4));
const limits = loadConfig({ flags: { max_agents: 1_000_000 } });

process.on("message", (message: Order | "go") => {
  if (message === "go") process.send?.(work());
  else prepare(message);
});

let work: () => Done = () => ({ transactions: 0, written: {} });

function prepare(order: Order): void {
  const written: Record<string, number> = {};
  const own = order.agents;
  const loop = (act: (agent: string, value: number) => void): Done => {
    const deadline = performance.now() + order.ms;
    let transactions = 0;
    for (; performance.now() < deadline; transactions++) {
      const agent = own[transactions % own.length] as string;
      const value = (written[agent] ?? 0) + 1;
      act(agent, value);
      written[agent] = value;
    }
    return { transactions, written };
  };
  if (order.way === "json" || order.way === "json without fsync") {
    work = () => loop((agent, value) => rewrite(order.path, agent, value, order.way === "json"));
  } else {
    const registry = Registry.open(order.path, { busyMs: 20_000 });
    registry.tasks(); // opened and read once
    const insert = (): void => {
      const id = `new-${randomUUID().slice(0, 18)}`;
      registry.insertRun(agentRow(id), runRow(id, { phase: "drained" }), limits);
    };
    const put = (agent: string, bytes: number): void => registry.putRun(runRow(agent, { bytes }));
    work = () => {
      const done = loop(order.way === "insertRun" ? insert : put);
      registry.close();
      return done;
    };
  }
  process.send?.("ready");
}

/** The seeds' way: a lock, the whole file read, changed, written, synced and renamed, unlock. */
function rewrite(path: string, agent: string, bytes: number, sync: boolean): void {
  const lock = `${path}.lock`;
  while (!locked(lock)) Atomics.wait(clock, 0, 0, 1 + Math.random() * 4); // as our own waiting for SQLite's lock
  const registry = JSON.parse(readFileSync(path, "utf8")) as { agents: { agent: string; bytes: number }[] };
  const row = registry.agents.find((one) => one.agent === agent);
  if (row) row.bytes = bytes;
  const fd = openSync(`${path}.tmp`, "w", 0o600);
  writeSync(fd, JSON.stringify(registry, null, 2));
  if (sync) fsyncSync(fd);
  closeSync(fd);
  renameSync(`${path}.tmp`, path);
  rmdirSync(lock);
}

function locked(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
