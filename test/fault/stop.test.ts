import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CleanupFact, Report, Tier } from "../../src/core/types.ts";
import { readProcess } from "../../src/process/identity.ts";
import { stopRaces } from "../soak/stop-races.ts";
import { identify, keeperOf, signal } from "../support/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { type Lab, lives, supportFile, text, until } from "../support/workspace.ts";

const STUBBORN = 'trap "" INT TERM; sleep 300 & echo ready; while :; do sleep 0.05; done';

async function stubborn(at: Lab): ReturnType<Lab["run"]> {
  const record = await at.sh(STUBBORN);
  await until(() => text(record.log) !== "");
  return record;
}

const without = ({ already_stopped, took_ms, ...rest }: Report): object => rest;

describe.each(["auto", "subreaper"] as Tier[])("stops (tier %s)", (tier) => {
  it("R-004.7: two processes that stop one agent at once tell the same", async () => {
    const at = lab({ tier });
    const record = await stubborn(at);
    const stops = await Promise.all([1, 2].map(() => at.cli("stop", "--grace", "700ms", "--json", record.agent)));
    expect(stops.map(({ code }) => code)).toEqual([0, 0]);
    const [first, second] = stops.map(({ stdout }) => JSON.parse(stdout) as Report) as [Report, Report];
    expect(without(second)).toEqual(without(first));
    expect(first).toMatchObject({ verified: true, outcome: "stopped", left: [] });
  });

  it("R-004.2: a keeper that was stopped by SIGSTOP is woken by the caller", async () => {
    const at = lab({ tier });
    const record = await stubborn(at);
    const keeper = keeperOf(at, record);
    signal(keeper, "SIGSTOP");
    await until(() => readProcess(keeper.pid)?.state === "T");
    expect((await at.workspace.show(record.agent)).phase).toBe("running");
    const [report] = await at.workspace.stop([record.agent], { graceMs: 200 });
    expect(report).toMatchObject({ verified: true, left: [], exit: { signal: "SIGKILL" } });
    expect(report?.guarantee).toBe(record.guarantee); // By the keeper itself, not by a take-over.
  });

  it("R-004.2: a keeper that stands still whatever one does is replaced, and the run is ended with proof", async () => {
    const at = lab({ tier });
    const record = await stubborn(at);
    const keeper = keeperOf(at, record);
    const main = at.startFact(record).main as { pid: number; start_ticks: number };
    const loop = at.node(supportFile("stop-loop.ts"), String(keeper.pid), String(keeper.start_ticks));
    await once(loop, "message");
    const [report] = await at.workspace.stop([record.agent], { graceMs: 200 });
    expect(report).toMatchObject({ verified: true, left: [], outcome: "stopped", exit: { code: null } });
    // Between two signals it may have come as far as removing the leaf; then a scan is what is left.
    expect(report?.guarantee).toMatch(tier === "subreaper" ? /^scan$/ : /^(cgroup|scan)$/);
    expect([lives(keeper), lives(main), at.survivors()]).toEqual([false, false, []]);
    expect(existsSync(join(at.runDir(record), "adopt.json"))).toBe(true);
  });
});

it("R-004.2: a stop while another process launches: it never ran, or it ran and was ended (30 rounds)", async () => {
  const { failures, figures } = await stopRaces(30, 3);
  console.log("stop races launch", figures);
  expect(failures).toEqual([]);
});

it("R-002.14: a purge of 50 MB adds less than half a second to the stop", async () => {
  const at = lab();
  const record = await at.sh("head -c 50000000 /dev/zero | tr '\\0' x; echo; exec sleep 300");
  await until(() => statSync(record.log).size > 50_000_000, 20_000);
  const begun = performance.now();
  const [report] = await at.workspace.stop([record.agent], { graceMs: 0, purge: true });
  expect(performance.now() - begun - (report?.took_ms ?? 0)).toBeLessThan(550);
  expect(report?.freed_bytes).toBeGreaterThan(50_000_000);
});

/** Starts `count` sleeps that name an agent in their arguments and are none of its processes. */
async function bystanders(count: number, agent: string, folder: string): Promise<ChildProcess> {
  const script = `i=0; while [ $i -lt ${count} ]; do sleep 120 & i=$((i+1)); done; echo up; wait`;
  const child = spawn("sh", ["-c", script, agent, folder], {
    cwd: folder,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(async () => {
    const gone = once(child, "exit");
    process.kill(-(child.pid ?? 0), "SIGKILL"); // Its own group: exactly what was started here.
    await gone;
  });
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

it("R-004.20: a report lists the first 1,000 processes and tells how many there were", async () => {
  const at = lab();
  const record = await at.sh("i=0; while [ $i -lt 1100 ]; do sleep 300 & i=$((i+1)); done; echo up; wait");
  await until(() => text(record.log) !== "", 30_000);
  const [report] = await at.workspace.stop([record.agent], { graceMs: 0 });
  expect(report).toMatchObject({ verified: true, processes_total: 1101, left: [] });
  expect(report?.processes).toHaveLength(1000);
});

it("R-004.20: a keeper that never answers is given up after 10 s, and can start nothing any more", async () => {
  const at = lab();
  const [keeper, pid] = [join(at.folder, "keeper"), join(at.folder, "pid")];
  writeFileSync(keeper, `#!/bin/sh\necho $$ >"${pid}"; exec sleep 60\n`, { mode: 0o755 });
  const workspace = at.open({ env: { ...process.env, MIDWATCH_KEEPER: keeper } });
  await expect(workspace.run({ argv: ["true"] })).rejects.toMatchObject({ code: "KEEPER_FAILED" });
  signal(identify(Number(text(pid))), "SIGKILL");
  expect(await at.workspace.list()).toMatchObject([{ phase: "launch_failed", outcome: "failed" }]);
  expect(readdirSync(join(at.root, "active"))).toEqual([]);
});

// The tests that the seed of cleanup names, in its order.
describe("the seven cleanup tests", () => {
  it("R-004.24, R-004.17: 1 a complete cleanup: all ended, all files told, the log archived by the next run", async () => {
    const at = lab();
    const record = await at.workspace.run({
      argv: ["sh", "-c", "echo kept; setsid sleep 300 & sleep 300"],
      prompt: "p",
    });
    await until(() => text(record.log) !== "");
    const [report] = await at.workspace.stop([record.agent], { graceMs: 100 });
    expect(report).toMatchObject({ verified: true, left: [], outcome: "stopped" });
    expect(report?.processes_total).toBe(3);
    expect(report?.files.filter(({ action }) => action === "failed")).toEqual([]);
    expect(report?.files.find(({ path }) => path.includes("agent_prompt"))?.action).toBe("deleted");
    expect(at.survivors()).toEqual([]);
    await at.workspace.restart(record.agent);
    expect(text(join(at.root, record.task, "archive", `${record.agent}_stream.1.jsonl`))).toBe("kept\n");
  });

  it("R-004.24, R-004.1, R-002.13: 2 processes that have the log open are ended before it is touched: the archive is complete", async () => {
    const at = lab();
    // Three writers of one log, two of them outside the main process's session, busy until the last moment.
    const writer = 'i=0; while :; do i=$((i+1)); echo "$0 $i"; done';
    const record = await at.sh(`setsid sh -c '${writer}' a & setsid sh -c '${writer}' b & exec sh -c '${writer}' c`);
    await until(() => statSync(record.log).size > 200_000);
    const [report] = await at.workspace.stop([record.agent], { graceMs: 0 });
    const told = report?.files.find(({ path }) => path === record.log);
    const size = statSync(record.log).size;
    expect([report?.verified, told?.bytes]).toEqual([true, size]);
    const before = await at.raw(record.agent);
    await at.workspace.restart(record.agent);
    const archive = join(at.root, record.task, "archive", `${record.agent}_stream.1.jsonl`);
    expect([statSync(archive).size, (await at.raw(record.agent, { run: 1 })).equals(before)]).toEqual([size, true]);
    for (const name of ["a", "b", "c"]) {
      const numbers = before
        .toString()
        .split("\n")
        .filter((line) => line.startsWith(`${name} `))
        .map((line) => Number(line.slice(2)));
      // The last one may be cut by the kill; everything before it is there, in order, once.
      for (const [i, n] of numbers.slice(0, -1).entries()) if (n !== i + 1) expect(n).toBe(i + 1);
    }
  });

  it("R-004.24, R-004.7: 3 five agents stopped at once by five processes: none active, all ended, the registry sound", async () => {
    const at = lab();
    const { task } = at.workspace.task("five");
    const records = await Promise.all(
      Array.from({ length: 5 }, () => at.workspace.run({ argv: ["sleep", "300"], task })),
    );
    const stops = await Promise.all(records.map(({ agent }) => at.cli("stop", "--grace", "0", "--json", agent)));
    expect(stops.map(({ code, stdout }) => [code, JSON.parse(stdout).verified])).toEqual(stops.map(() => [0, true]));
    expect(readdirSync(join(at.root, "active"))).toEqual([]);
    const rows = await at.workspace.list({ all: true });
    expect(rows.map(({ phase, outcome }) => [phase, outcome])).toEqual(rows.map(() => ["drained", "stopped"]));
    const view = JSON.parse(text(join(at.root, task, "AGENT_REGISTRY.json")));
    expect(view.agents.filter(({ status }: { status: string }) => status === "running")).toEqual([]);
    expect(at.workspace.checkRegistry()).toEqual([]);
  });

  it("R-004.24, R-004.3: 4 zombies are dead, and whoever refuses to end is killed: none is left in the process table", async () => {
    const at = lab();
    const record = await at.sh(`sleep 0.01 & (trap "" INT TERM HUP; exec sleep 300) & echo ready; exec sleep 300`);
    const { pid } = record;
    const children = (): string[] => text(`/proc/${pid}/task/${pid}/children`).trim().split(" ");
    await until(() => children().some((child) => text(`/proc/${child}/stat`).includes(") Z ")));
    const [report] = await at.workspace.stop([record.agent], { graceMs: 300 });
    expect(report).toMatchObject({ verified: true, left: [] });
    expect(report?.processes.map(({ ended_by }) => ended_by)).toEqual(
      expect.arrayContaining([expect.stringMatching(/SIGKILL|cgroup.kill/)]),
    );
    expect([existsSync(`/proc/${pid}`), at.survivors()]).toEqual([false, []]);
  });

  it("R-004.24, R-004.18, R-004.8: 5 with resources missing or held the rest is done and each failure told", async () => {
    const at = lab();
    const record = await at.workspace.run({ argv: ["sh", "-c", "echo x; exec sleep 300"], prompt: "p" });
    await until(() => text(record.log) !== "");
    const { files } = await at.workspace.show(record.agent);
    const path = (kind: string): string => files.find((file) => file.kind === kind)?.path ?? "";
    process.kill(record.pid ?? 0, "SIGKILL"); // Dead already,
    rmSync(path("prompt")); // its prompt gone,
    const stranger = openSync(path("stderr"), "a"); // and a file in use by somebody else.
    onTestFinished(() => closeSync(stranger));
    const [report] = await at.workspace.stop([record.agent], { graceMs: 0, purge: true });
    expect(report?.verified).toBe(true);
    const action = (kind: string): unknown => report?.files.find((file) => file.path === path(kind))?.action;
    expect([action("prompt"), action("stderr"), action("log"), action("deploy")]).toEqual([
      "missing",
      "failed",
      "deleted",
      "deleted",
    ]);
    expect(at.fact<CleanupFact>(record, "cleanup.json")?.files).toEqual(report?.files);
  });

  it("R-004.24, R-004.5, R-002.16: 6 an agent that completes is cleaned up by itself", async () => {
    const at = lab({ grace: "200ms" });
    const record = await at.workspace.run({ argv: ["sh", "-c", "setsid sleep 300 & echo done"], prompt: "p" });
    await until(() => existsSync(join(at.runDir(record), "done.json"))); // Nobody asked for anything.
    expect(at.survivors()).toEqual([]);
    expect(existsSync(join(at.root, record.task, `agent_prompt_${record.agent}.txt`))).toBe(false);
    expect(await at.workspace.show(record.agent)).toMatchObject({ phase: "drained", outcome: "completed" });
    expect(readdirSync(join(at.root, "active"))).toEqual([]);
  });

  it("R-004.24, R-004.9: 7 among 1,000 other processes a stop takes less than 2 s, and they all live on", async () => {
    const at = lab();
    const record = await stubborn(at);
    const others = await bystanders(1000, record.agent, at.folder);
    const begun = performance.now();
    const [report] = await at.workspace.stop([record.agent], { graceMs: 200 });
    const took = performance.now() - begun;
    console.log("a stop among 1,000 processes, grace 200 ms:", Math.round(took), "ms");
    expect(report).toMatchObject({ verified: true, left: [] });
    expect(took).toBeLessThan(2000);
    expect(text(`/proc/${others.pid}/task/${others.pid}/children`).trim().split(" ")).toHaveLength(1000);
  });
});
