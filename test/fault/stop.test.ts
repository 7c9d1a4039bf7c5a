import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { Report } from "../../src/core/types.ts";
import { readProcess } from "../../src/process/identity.ts";
import { keeperBinary } from "../../src/process/keeper-binary.ts";
import { stopRaces } from "../soak/stop-races.ts";
import { makeStand } from "../support/fault/hold-thread.ts";
import { identify, keeperOf, signal } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { type Lab, lives, text, until } from "../support/workspace.ts";

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
    expect((await at.workspace.runs.show(record.agent)).phase).toBe("running");
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 200 });
    expect(report).toMatchObject({ verified: true, left: [], exit: { signal: "SIGKILL" } });
    expect(report?.guarantee).toBe(record.guarantee); // By the keeper itself, not by a take-over.
  });

  it("R-004.2: a keeper that stands still whatever one does is replaced, and the run is ended with proof", async () => {
    const at = lab({ tier });
    const record = await stubborn(at);
    const keeper = keeperOf(at, record);
    const main = at.startFact(record).main as { pid: number; start_ticks: number };
    await makeStand(at, keeper);
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 200 });
    expect(report).toMatchObject({ verified: true, left: [], outcome: "stopped", exit: { code: null } });
    expect(report?.guarantee).toBe(record.guarantee === "cgroup" ? "cgroup" : "scan");
    expect([lives(keeper), lives(main), at.survivors()]).toEqual([false, false, []]);
    expect(at.fact(record, "adopt.json")).toMatchObject({ by: "adopter" });
  });
});

it("R-004.2: a stop while another process launches: it never ran, or it ran and was ended (30 rounds)", async () => {
  const { failures, figures } = await stopRaces(30, 3);
  console.log("stop races launch", figures);
  expect(failures).toEqual([]);
});

it("R-002.14: a purge of 50 MB is part of the stop; what it adds is printed", async () => {
  const at = lab();
  const record = await at.sh("head -c 50000000 /dev/zero | tr '\\0' x; echo; exec sleep 300");
  await until(() => statSync(record.log).size > 50_000_000, 20_000);
  const begun = performance.now();
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0, purge: true });
  console.log(`a purge of 50 MB: ${Math.round(performance.now() - begun - (report?.took_ms ?? 0))} ms`);
  expect(existsSync(record.log)).toBe(false);
  expect(report?.freed_bytes).toBeGreaterThan(50_000_000);
});

it("R-004.20: a report lists the first 1,000 processes and tells how many there were", async () => {
  const at = lab();
  const record = await at.sh("i=0; while [ $i -lt 1100 ]; do sleep 300 & i=$((i+1)); done; echo up; wait");
  await until(() => text(record.log) !== "", 30_000);
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
  expect(report).toMatchObject({ verified: true, processes_total: 1101, left: [] });
  expect(report?.processes).toHaveLength(1000);
});

it("R-004.20: a keeper that never answers is given up after 10 s, and can start nothing any more", async () => {
  const at = lab();
  const [keeper, pid] = [join(at.folder, "keeper"), join(at.folder, "pid")];
  const says = `[ "$1" != --version ] || exec '${keeperBinary().path}' --version`;
  writeFileSync(keeper, `#!/bin/sh\n${says}\necho $$ >"${pid}"; exec sleep 60\n`, { mode: 0o755 });
  const workspace = at.open({ env: { ...process.env, MIDWATCH_KEEPER: keeper } });
  await expect(workspace.runs.start({ argv: ["true"] })).rejects.toMatchObject({ code: "KEEPER_FAILED" });
  signal(identify(Number(text(pid))), "SIGKILL");
  expect(await at.workspace.runs.list()).toMatchObject([{ phase: "launch_failed", outcome: "failed" }]);
  expect(readdirSync(join(at.root, "active"))).toEqual([]);
});
