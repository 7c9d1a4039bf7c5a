// `insert DB NAME COUNT`: reserves COUNT runs. `hold DB`: takes the write lock and keeps it. `open DB`: opens it, says how.
import { DatabaseSync } from "node:sqlite";
import { loadConfig } from "../../../src/core/config/config.ts";
import { newNonce, newTaskId, parseAgentId } from "../../../src/core/ids.ts";
import { iso } from "../../../src/core/time.ts";
import { Registry } from "../../../src/registry/registry.ts";

const [verb, path = "", name = "", count = "0"] = process.argv.slice(2);
const task = newTaskId();

function insert(registry: Registry, id: string): void {
  const agent = parseAgentId(id);
  const created_at = iso();
  const none = { outcome: null, guarantee: null, verdict: null, alive: null, hold: null, pid: null, keeper_pid: null };
  const later = { last_output_at: null, started_at: null, ended_at: null, exit_code: null, exit_signal: null };
  const run = { agent, run: 1, nonce: newNonce(), phase: "running", log: "/x", bytes: 0, created_at } as const;
  const unset = {
    tokens: null,
    cost_usd: null,
    spent: null,
    reason: null,
    session: null,
    queued: 0,
    turn_mono_ms: null,
    archive_from: null,
    model: null,
    unsettled: null,
    passed: null,
  };
  const who = { id: agent, task, driver: "command", role: null, name: null, parent: null, depth: 0, created_at };
  registry.insertRun(
    { ...who, model: null, labels: null, capability: null },
    { ...run, ...none, ...later, ...unset, created_mono_ms: null },
    loadConfig({ flags: { max_agents: 1_000_000 } }),
  );
}

if (verb === "hold") {
  const db = new DatabaseSync(path);
  db.exec("BEGIN IMMEDIATE; INSERT INTO meta VALUES ('held', '1')");
  process.send?.("held");
  setInterval(() => void db.isTransaction, 1000); // Nobody else holds it: collected, it would give up its lock.
} else if (verb === "open") {
  const registry = Registry.open(path);
  process.send?.({ movedAside: registry.movedAside ?? null });
  insert(registry, name);
  registry.close();
} else {
  const registry = Registry.open(path, { busyMs: 20_000 });
  const waits: number[] = [];
  for (let i = 0; i < Number(count); i++) {
    const begun = performance.now();
    insert(registry, `${name}-${i}`);
    waits.push(performance.now() - begun);
  }
  process.send?.(Math.max(...waits));
  registry.close();
}
