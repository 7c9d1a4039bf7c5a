// One of the processes of bench/registry.ts. Told by messages: opens, says "ready", works for a time at "go", sends what it
// did: for each of its agents the last value written, or the number of rows inserted.
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmdirSync, writeSync } from "node:fs";
import { loadConfig } from "../../src/core/config/config.ts";
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
  if (order.way === "json put") {
    work = () =>
      loop((agent, bytes) =>
        rewrite(order.path, ({ agents }) => {
          const row = agents.find((one) => one.agent === agent);
          if (row) row.bytes = bytes;
        }),
      );
  } else if (order.way === "json insert") {
    const insert = ({ agents }: Json): void => {
      const id = newId();
      agents.push({ ...agentRow(id), ...runRow(id, { phase: "drained" }) });
    };
    work = () => loop(() => rewrite(order.path, insert));
  } else {
    const registry = Registry.open(order.path, { busyMs: 20_000 });
    registry.tasks(); // opened and read once
    const insert = (): void => {
      const id = newId();
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

interface Json {
  agents: { agent: string; bytes: number }[];
}

const newId = (): string => `new-${randomUUID().slice(0, 18)}`;

/** The seeds' way: a lock, the whole file read, changed, written, synced and renamed, unlock. */
function rewrite(path: string, change: (registry: Json) => void): void {
  const lock = `${path}.lock`;
  while (!locked(lock)) Atomics.wait(clock, 0, 0, 1 + Math.random() * 4); // as our own waiting for SQLite's lock
  const registry = JSON.parse(readFileSync(path, "utf8")) as Json;
  change(registry);
  const fd = openSync(`${path}.tmp`, "w", 0o600);
  writeSync(fd, JSON.stringify(registry, null, 2));
  fsyncSync(fd);
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
