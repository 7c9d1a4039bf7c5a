import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { loadConfig } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, newTaskId, parseAgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { type AgentRow, type CursorRow, Registry, type RunRow, type TaskRow } from "./registry.ts";

const limits = loadConfig();
const task = newTaskId();
const NOW = Date.parse("2026-11-15T19:00:00.000Z");

function agentRow(id: string, more: Partial<AgentRow> = {}): AgentRow {
  const row = { task, driver: "command", role: null, name: null, parent: null, depth: 0, created_at: iso(NOW) };
  return { id: parseAgentId(id), ...row, model: null, labels: [], capability: null, ...more };
}

function runRow(agent: string, more: Partial<RunRow> = {}): RunRow {
  return {
    agent: parseAgentId(agent),
    run: 1,
    nonce: "0".repeat(32),
    phase: "running",
    outcome: null,
    guarantee: null,
    verdict: null,
    alive: null,
    hold: null,
    pid: null,
    keeper_pid: null,
    log: `/w/${agent}_stream.jsonl`,
    bytes: 0,
    last_output_at: null,
    created_at: iso(NOW),
    created_mono_ms: 0,
    started_at: null,
    ended_at: null,
    exit_code: null,
    exit_signal: null,
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
    ...more,
  };
}

function open(path = ":memory:"): Registry {
  const registry = Registry.open(path);
  onTestFinished(() => registry.close());
  return registry;
}

function refused(act: () => void): MidwatchError {
  try {
    act();
  } catch (error) {
    if (error instanceof MidwatchError) return error;
    throw error;
  }
  throw new Error("was not refused");
}

const ids = (registry: Registry, options = {}) => registry.list(options).map(({ agent }) => agent.id);

describe("rows", () => {
  it("come back as they went in", () => {
    const registry = open();
    const data: TaskRow = { id: task, description: "d", created_at: iso(NOW), data: { v: 1, more: ["kept"] } };
    registry.putTask(data);
    const agent = agentRow("a", { role: "dev", name: "A", parent: parseAgentId("p"), depth: 2 });
    const run = runRow("a", {
      phase: "lost",
      outcome: "lost",
      guarantee: "cgroup",
      alive: [{ pid: 7, name: "sh" }],
      hold: { why: "disk", since: iso(NOW) },
      pid: 7,
      keeper_pid: 6,
      bytes: 2 ** 40,
      tokens: { input: 1, output: 2, cache_read: 3, cache_write: 4 },
      cost_usd: 0.25,
      exit_code: 0,
      exit_signal: "SIGTERM",
    });
    registry.insertRun(agent, run, limits);
    const file = { path: "/w/x", kind: "log", bytes: 5, created_at: iso(NOW), sha256: null } as const;
    registry.putFiles(agent.id, 1, [file]);
    expect(registry.tasks()).toEqual([data]);
    expect(registry.task(task)).toEqual(data);
    expect(registry.get(agent.id)).toEqual({ agent, run });
    expect(registry.filesOf(agent.id, 1)).toEqual([file]);
    expect(registry.integrity()).toEqual([]);
  });

  it("R-004.11: hold the pids of each run", () => {
    const registry = open();
    registry.insertRun(agentRow("a"), runRow("a"), limits);
    registry.putRun(runRow("a", { pid: 101, keeper_pid: 100 }));
    expect(registry.get(parseAgentId("a"))?.run).toMatchObject({ pid: 101, keeper_pid: 100 });
  });

  it("an id is taken once, and the refusal may be retried", () => {
    const registry = open();
    registry.insertRun(agentRow("a"), runRow("a"), limits);
    for (const run of [1, 2]) registry.putRun(runRow("a", { run, phase: "drained" }));
    expect(refused(() => registry.insertRun(agentRow("a"), runRow("a"), limits))).toMatchObject({
      code: "DUPLICATE_ID",
      retryable: true,
    });
    expect(refused(() => registry.insertRun(agentRow("a"), runRow("a", { run: 2 }), limits)).code).toBe("DUPLICATE_ID");
    registry.insertRun(agentRow("a"), runRow("a", { run: 3 }), limits);
    expect(registry.runsOf(parseAgentId("a")).map(({ run }) => run)).toEqual([1, 2, 3]);
    expect(registry.get(parseAgentId("a"))?.run.run).toBe(3);
  });

  it("of a run that never came to be go away, with the agent when it was the only one", () => {
    const registry = open();
    registry.insertRun(agentRow("a"), runRow("a", { phase: "drained" }), limits);
    registry.insertRun(agentRow("a"), runRow("a", { run: 2 }), limits);
    registry.deleteRun(parseAgentId("a"), 2);
    expect(registry.get(parseAgentId("a"))?.run.run).toBe(1);
    registry.deleteRun(parseAgentId("a"), 1);
    expect([registry.get(parseAgentId("a")), registry.findByPrefix("a")]).toEqual([undefined, []]);
  });
});

describe("queries", () => {
  it("list live agents, those that ended since a time, all, and those of a task", () => {
    const registry = open();
    const other = newTaskId();
    registry.rebuild({
      tasks: [],
      agents: [
        agentRow("live"),
        agentRow("new", { task: other }),
        agentRow("old"),
        agentRow("lost"),
        agentRow("ghost"),
      ],
      runs: [
        runRow("live", { created_at: iso(NOW + 3) }),
        runRow("new", { phase: "drained", ended_at: iso(NOW - 1000), created_at: iso(NOW + 2) }),
        runRow("old", { phase: "archived", ended_at: iso(NOW - 9000), created_at: iso(NOW + 1) }),
        runRow("lost", { phase: "lost", alive: [] }),
        runRow("ghost", { phase: "lost", alive: [{ pid: 1, name: "x" }] }),
      ],
    });
    expect(ids(registry)).toEqual(["live", "ghost"]);
    expect(ids(registry, { since: iso(NOW - 5000) })).toEqual(["live", "new", "ghost"]);
    expect(ids(registry, { all: true })).toEqual(["live", "new", "old", "ghost", "lost"]);
    expect(ids(registry, { all: true, task: other })).toEqual(["new"]);
  });

  it("find at most ten ids by prefix, and treat no character as a wildcard", () => {
    const registry = open();
    for (let i = 10; i < 25; i++) registry.insertRun(agentRow(`dev-${i}`), runRow(`dev-${i}`), limits);
    registry.insertRun(agentRow("dev_x"), runRow("dev_x"), limits);
    expect(registry.findByPrefix("dev-1")).toHaveLength(10);
    expect(registry.findByPrefix("dev-23")).toEqual(["dev-23"]);
    expect(registry.findByPrefix("dev_")).toEqual(["dev_x"]);
    expect([registry.findByPrefix("de%"), registry.findByPrefix("e")]).toEqual([[], []]);
  });

  it("know an agent's children", () => {
    const registry = open();
    const parent = "p" as AgentId;
    registry.insertRun(agentRow("p"), runRow("p"), limits);
    registry.insertRun(agentRow("c", { parent, depth: 1 }), runRow("c"), limits);
    expect(registry.children(parent).map(({ agent }) => agent.id)).toEqual(["c"]);
  });
});

describe("limits", () => {
  const child = (registry: Registry, id: string, more: Partial<typeof limits> = {}, at = 0) =>
    registry.insertRun(agentRow(id, { parent: "p" as AgentId, depth: 1 }), runRow(id, { created_mono_ms: at }), {
      ...limits,
      ...more,
    });

  function withParent(): Registry {
    const registry = open();
    registry.insertRun(agentRow("p"), runRow("p"), limits);
    return registry;
  }

  it("on live agents: what has ended does not count", () => {
    const registry = withParent();
    const two = { ...limits, max_agents: 2 };
    registry.insertRun(agentRow("a"), runRow("a"), two);
    expect(refused(() => registry.insertRun(agentRow("b"), runRow("b"), two))).toMatchObject({
      code: "REFUSED_LIMIT",
      retryable: true,
      data: { limit: "max_agents", most: 2, wanted: 3 },
    });
    expect(registry.findByPrefix("b")).toEqual([]);
    registry.putRun(runRow("a", { phase: "drained" }));
    registry.insertRun(agentRow("b"), runRow("b"), two);
  });

  it("on children of one parent", () => {
    const registry = withParent();
    child(registry, "a", { max_children: 1 });
    expect(refused(() => child(registry, "b", { max_children: 1 })).data).toMatchObject({ limit: "max_children" });
    registry.putRun(runRow("a", { phase: "launch_failed" }));
    child(registry, "b", { max_children: 1 });
  });

  it("on starts in a minute", () => {
    const registry = withParent();
    child(registry, "a", { child_rate: 1 });
    registry.putRun(runRow("a", { phase: "drained" }));
    expect(refused(() => child(registry, "b", { child_rate: 1 }, 59_000)).data).toMatchObject({
      limit: "child_rate",
    });
    child(registry, "b", { child_rate: 1 }, 60_000);
  });

  it("on depth, by what the registry knows of the parent", () => {
    const registry = withParent();
    child(registry, "a", { max_depth: 1 });
    const deep = agentRow("b", { parent: "a" as AgentId, depth: 0 });
    expect(refused(() => registry.insertRun(deep, runRow("b"), { ...limits, max_depth: 1 }))).toMatchObject({
      retryable: false,
      data: { limit: "max_depth", wanted: 2 },
    });
  });
});

describe("rebuild", () => {
  it("replaces everything but what was created while the folders were read", () => {
    const registry = open();
    expect(registry.needsRebuild).toBe(true);
    registry.putTask({ id: task, description: "old", created_at: iso(NOW), data: {} });
    registry.insertRun(agentRow("old"), runRow("old"), limits);
    const later = { created_at: iso(NOW + 5000) };
    registry.insertRun(agentRow("fresh", later), runRow("fresh", later), limits);
    registry.rebuild({ tasks: [], agents: [agentRow("found")], runs: [runRow("found")] }, iso(NOW + 1000));
    expect(ids(registry, { all: true })).toEqual(["fresh", "found"]);
    expect([registry.tasks(), registry.needsRebuild]).toEqual([[], false]);
  });

  it("gives no turn again that was taken while the folders were read", () => {
    const registry = open();
    const waiting = runRow("w", { phase: "intended", queued: 1 });
    registry.insertRun(agentRow("w"), waiting, limits);
    const read = { tasks: [], agents: [agentRow("w")], runs: [waiting] };
    expect(registry.takeTurn(waiting.agent, 1, 10, 60_000)).toBe(true);
    registry.rebuild(read, iso(NOW + 1000));
    expect(registry.takeTurn(waiting.agent, 1, 10, 60_000)).toBe(false);
    registry.rebuild({ ...read, runs: [{ ...waiting, phase: "running", queued: 0 }] }, iso(NOW + 1000));
    expect(registry.get(waiting.agent)?.run).toMatchObject({ phase: "running", queued: 0 });
  });
});

describe("the file", () => {
  it("R-004.14: is the owner's only, with its companions", () => {
    const dir = folder();
    open(join(dir, "midwatch.db")).putTask({ id: task, description: "", created_at: iso(), data: {} });
    expect(readdirSync(dir).sort()).toEqual(["midwatch.db", "midwatch.db-shm", "midwatch.db-wal"]);
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777, name).toBe(0o600);
  });

  it("is still there for the next one", () => {
    const path = join(folder(), "midwatch.db");
    const first = Registry.open(path);
    first.insertRun(agentRow("a"), runRow("a"), limits);
    first.rebuild({ tasks: [], agents: [], runs: [] }, iso(NOW - 1));
    first.close();
    const second = open(path);
    expect([ids(second), second.needsRebuild, second.movedAside]).toEqual([["a"], false, undefined]);
  });

  it.each([
    ["garbage", (path: string) => writeFileSync(path, Buffer.alloc(9000, "garbage"))],
    ["cut off", (path: string) => truncateSync(path, 5000)],
    ["zeroed at its begin", (path: string) => writeFileSync(path, readFileSync(path).fill(0, 0, 8192))],
    ["overwritten from page 2", (path: string) => writeFileSync(path, readFileSync(path).fill(0x5a, 4096))],
  ])("R-004.23: one that is %s is noticed, kept aside and to be rebuilt", (_, damage) => {
    const dir = folder();
    const path = join(dir, "midwatch.db");
    const first = Registry.open(path);
    first.rebuild({ tasks: [], agents: [agentRow("a")], runs: [runRow("a")] });
    first.close();
    damage(path);
    const second = open(path);
    expect(second.movedAside).toMatch(/midwatch\.db\.corrupt\.\d{8}T\d{9}Z$/);
    expect(existsSync(second.movedAside ?? "")).toBe(true);
    expect([second.needsRebuild, ids(second, { all: true })]).toEqual([true, []]);
    second.insertRun(agentRow("b"), runRow("b"), limits);
  });

  it("opened read-only is never written, and stands in memory when it cannot be used", () => {
    const dir = folder();
    const path = join(dir, "midwatch.db");
    const missing = Registry.open(path, { readOnly: true });
    expect([missing.needsRebuild, readdirSync(dir)]).toEqual([true, []]);
    missing.rebuild({ tasks: [], agents: [agentRow("a")], runs: [runRow("a")] });
    expect(ids(missing)).toEqual(["a"]);
    missing.close();
    writeFileSync(path, "garbage".repeat(1000));
    const broken = Registry.open(path, { readOnly: true });
    expect([broken.needsRebuild, readdirSync(dir)]).toEqual([true, ["midwatch.db"]]);
    broken.close();
  });

  it("from a newer midwatch is refused, not rewritten", () => {
    const path = join(folder(), "midwatch.db");
    Registry.open(path).close();
    const db = new DatabaseSync(path);
    db.exec("UPDATE meta SET value = '99' WHERE key = 'schema_version'");
    db.close();
    expect(refused(() => Registry.open(path)).code).toBe("REGISTRY_NEWER");
  });
});

it("R-001.8: many places are kept at once, each its own", () => {
  const registry = Registry.open(join(folder(), "midwatch.db"));
  onTestFinished(() => registry.close());
  const zero = { run: 0, line: 0, checksum: 0, generation: 1, file: null, missed_bytes: 0, updated_at: iso(NOW) };
  const places = (from: number): CursorRow[] =>
    Array.from({ length: 23 }, (_, i) => ({
      agent: parseAgentId("reader-1"),
      log: `/w/${i + 10}`,
      offset: from + i,
      ...zero,
    }));
  registry.watched.putCursors(places(0));
  registry.watched.putCursors(places(100));
  expect(registry.watched.cursors()).toEqual(places(100));
});

it("summaries are found by their time, without a look at the others; in a database of an earlier version too", () => {
  const path = join(folder(), "midwatch.db");
  const rows = Array.from({ length: 500 }, (_, i) => ({
    agent: parseAgentId(`a-${i}`),
    run: 1,
    id: `s-${i}`,
    told: null,
    final: 1,
    data: { timestamp: iso(NOW + (i >> 1) * 1000), text: "x".repeat(1000) },
  }));
  const before = Registry.open(path);
  before.putBack({ tasks: [], agents: [], runs: [], files: [], summaries: rows });
  before.close();
  const db = new DatabaseSync(path);
  db.exec(
    "DROP INDEX summaries_at; ALTER TABLE runs DROP COLUMN unsettled; ALTER TABLE runs DROP COLUMN spent; ALTER TABLE runs DROP COLUMN passed; UPDATE meta SET value = '4' WHERE key = 'schema_version'",
  );
  db.close();
  const registry = open(path);
  const found = registry.watched.summariesSince(iso(NOW + 248_000));
  expect(found).toEqual([496, 497, 498, 499].map((i) => ({ agent: `a-${i}`, run: 1, at: iso(NOW + (i >> 1) * 1000) })));
  expect(registry.watched.summariesSince("")).toHaveLength(500);
  const looked = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => looked.close());
  const plan = looked.prepare("EXPLAIN QUERY PLAN SELECT agent FROM summaries WHERE data ->> 'timestamp' >= ?").all("");
  expect(plan[0]?.["detail"]).toMatch(/^SEARCH summaries USING .*INDEX summaries_at/);
});
