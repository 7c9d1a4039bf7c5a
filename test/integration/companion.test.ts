import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { IntentFact } from "../../src/core/intent.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { CompanionLab } from "../support/companion.ts";
import { patient } from "../support/patience.ts";
import { CLI, lives, type Survivor, until } from "../support/workspace.ts";

function lab(): CompanionLab {
  const made = new CompanionLab();
  onTestFinished(() => made.end(), patient(60_000));
  return made;
}

const kill = (pid: number): void => void process.kill(pid, "SIGKILL");

/** It ends by its limit, and nothing of the companion is left then. */
async function endsByLimit(at: CompanionLab, { agent }: RunRecord, limit = "cost"): Promise<void> {
  at.go();
  await until(async () => (await at.show(agent)).outcome !== null, 20_000, "it ends");
  expect(await at.show(agent)).toMatchObject({
    outcome: "limit",
    reason: expect.stringContaining(`${limit} limit reached`),
  });
  await at.isGone();
}

it("limits of money and tokens hold without `up`: the companion comes with the run, is hidden, and goes with it", async () => {
  for (const [name, flags] of [
    ["cost", ["--limit-cost", "0.05"]],
    ["tokens", ["--limit-tokens", "10000"]],
  ] as const) {
    const at = lab();
    const run = await at.loops(...flags);
    const companion = await at.comes();
    const { agent = "", task = "" } = at.record() ?? {};
    expect(await at.show(run.agent)).toMatchObject({ watched_by: { by: "companion", agent, pid: companion.pid } });
    expect((await at.midwatch("show", run.agent)).stdout).toContain(`by the companion ${agent} (pid ${companion.pid})`);
    const seen = async (...flags: string[]) => (await at.list(...flags)).map((one) => one.agent);
    expect(await seen()).toEqual([run.agent]);
    expect((await seen("--all")).sort()).toEqual([run.agent, agent].sort());
    const told = await at.workspace.runs.list({ all: true }); // What MCP and the page take.
    expect(told.map((one) => one.agent)).toEqual([run.agent]);
    expect((await at.midwatch("tasks", "--json")).stdout).not.toContain(task);
    expect((await at.midwatch("status", "--json")).stdout).not.toContain(agent);
    expect((await at.midwatch("metrics")).stdout).not.toContain(agent);
    await endsByLimit(at, run, name.replace(/s$/, ""));
    expect(await at.show(agent)).toMatchObject({ outcome: "completed", exit: { code: 0 } });
    expect((await at.midwatch("events", "--json")).stdout).not.toContain(agent);
  }
});

it("a run that nobody has to watch calls nobody", async () => {
  const at = lab();
  const { agent } = await at.json<RunRecord>("run", "--json", "--limit-wall", "1h", "--", "sleep", "300");
  expect(await at.show(agent)).toMatchObject({ watched_by: { by: null, agent: null, pid: null } });
  expect([at.record(), at.companions(), at.starters()]).toEqual([undefined, [], []]);
});

it("killed three times, with its keeper, with its group: it comes back, and the limit holds", async () => {
  const at = lab();
  const run = await at.loops();
  let last = await at.comes();
  const { agent } = at.record() ?? {};
  const ways: ((one: Survivor) => void)[] = [
    ({ pid }) => kill(pid),
    ({ pid }) => {
      kill(at.keeper()?.pid as number);
      kill(pid);
    },
    ({ pid }) => kill(-pid),
  ];
  for (const way of ways) {
    way(last);
    await until(() => !lives(last));
    const next = await at.comes();
    expect(next.pid).not.toBe(last.pid);
    last = next;
  }
  expect(at.record()?.agent).toBe(agent); // Each time the next run of the same agent.
  await endsByLimit(at, run);
});

it("an agent that takes the limit out of its intent, and kills who knew it, ends by it all the same", async () => {
  const at = lab();
  const run = await at.loops();
  const first = await at.comes();
  const file = join(at.runDir(run), "intent.json");
  const intent = JSON.parse(readFileSync(file, "utf8"));
  const limits = { ...intent.limits, tokens: 0, cost_usd: 0 };
  writeFileSync(file, JSON.stringify({ ...intent, limits, limit_policy: "notify" }));
  kill(first.pid);
  await until(() => !lives(first));
  expect((await at.comes()).pid).not.toBe(first.pid);
  await endsByLimit(at, run);
});

it("a killed keeper of the companion: it goes on, and gets another one", async () => {
  const at = lab();
  const run = await at.loops();
  const one = await at.comes();
  const keeper = at.keeper() as Survivor;
  kill(keeper.pid);
  await until(() => at.keeper() !== undefined && at.keeper()?.pid !== keeper.pid, 15_000, "it is adopted");
  expect(lives(one)).toBe(true);
  await endsByLimit(at, run);
});

it("it outlives the launcher, its terminal, and the agent whose keeper brought it back", async () => {
  const at = lab();
  const lead = await at.json<RunRecord>(
    "run",
    "--json",
    "--name",
    "lead",
    "--",
    "sh",
    "-c",
    `"${process.execPath}" "${CLI}" run --json --no-mcp --driver claude --limit-cost 0.05 loop >"$PWD/child.new" && mv child.new child.json; sleep 300`,
  );
  await until(() => existsSync(join(at.folder, "child.json")), 20_000);
  const child = JSON.parse(readFileSync(join(at.folder, "child.json"), "utf8")) as RunRecord;
  const first = await at.comes();
  kill(first.pid);
  await until(() => !lives(first));
  const second = await at.comes(); // Below the keeper of the child, which is below that of the lead.
  const report = await at.stop("--grace", "0", lead.agent);
  expect(report).toMatchObject({ verified: true, left: [], children: [{ run: `${child.agent}.1` }] });
  expect(lives(second)).toBe(true);
  await endsByLimit(at, child);
});

it("`up` takes its place, and hands back when it ends or is killed", async () => {
  const at = lab();
  const run = await at.loops();
  for (const signal of ["SIGINT", "SIGKILL"] as const) {
    const one = await at.comes();
    const up = at.spawn("up", "--no-http");
    await until(() => !lives(one), 15_000, "up ends it");
    await until(async () => (await at.watcher()) === up.pid, 15_000, "up leads");
    expect(await at.show(run.agent)).toMatchObject({ watched_by: { by: "up", agent: null, pid: up.pid } });
    up.kill(signal);
    expect((await at.comes()).pid).not.toBe(one.pid);
  }
  await endsByLimit(at, run);
});

it("`stop` ends it like any agent, and it comes back; nobody restarts it", async () => {
  const at = lab();
  await at.loops();
  const one = await at.comes();
  const agent = at.record()?.agent as string;
  expect(await at.stop(agent)).toMatchObject({ verified: true, outcome: "stopped" });
  expect(lives(one)).toBe(false);
  await at.comes();
  expect(await at.midwatch("restart", agent)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("is the companion"),
  });
});

it("many launchers at once: one companion, and each run has its limit", async () => {
  const at = lab();
  const runs = await Promise.all(Array.from({ length: 4 }, () => at.loops()));
  await at.comes();
  await until(() => at.starters().length === 0);
  expect(at.companions()).toHaveLength(1);
  at.go();
  for (const { agent } of runs) {
    await until(async () => (await at.show(agent)).outcome !== null, 20_000);
    expect(await at.show(agent)).toMatchObject({ outcome: "limit" });
  }
  await at.isGone();
});

it("a queued run gets its turn without `up`; it keeps to the --max-running it was asked with", async () => {
  const at = lab();
  const ask = (...command: string[]) =>
    at.json<RunRecord>("run", "--json", "--queue", "--max-running", "1", "--", ...command);
  const first = await ask("sleep", "300");
  await until(async () => (await at.show(first.agent)).phase === "running", 20_000);
  const second = await ask("true");
  await at.comes();
  expect(await at.show(second.agent)).toMatchObject({ queued: true });
  await at.stop("--grace", "0", first.agent);
  await until(async () => (await at.show(second.agent)).outcome === "completed", 20_000);
  await at.isGone();
});

it("an agent is no companion for its role, its name or its intent: it stays visible, and without rights", async () => {
  const at = lab();
  const script = `"${process.execPath}" "${CLI}" companion watch "${at.root}"; echo "watch $?"; "${process.execPath}" "${CLI}" stop ${"x"}; sleep 300`;
  const forged = await at.json<RunRecord>(
    "run",
    "--json",
    "--role",
    "companion",
    "--name",
    "companion",
    "--",
    "sh",
    "-c",
    script,
  );
  const path = join(at.runDir(forged), "intent.json");
  const intent = JSON.parse(readFileSync(path, "utf8")) as IntentFact;
  writeFileSync(
    path,
    `${JSON.stringify({ ...intent, argv: [process.execPath, CLI, "companion", "watch", at.root] })}\n`,
  );
  await until(async () => (await at.raw(forged.agent)).includes("watch 4"), 20_000);
  expect((await at.list()).map(({ agent }) => agent)).toEqual([forged.agent]);
  expect(at.record()).toBeUndefined();
});

it("in a workspace that is not ours none is started", async () => {
  const at = lab();
  const run = await at.loops();
  await at.comes();
  const other = join(at.folder, "copy");
  mkdirSync(other);
  await new Promise((resolve) => spawn("cp", ["-a", at.root, join(other, ".agent-workspace")]).once("exit", resolve));
  const starter = spawn(process.execPath, [CLI, "companion", "start", join(other, ".agent-workspace")], {
    env: at.env,
  });
  const [code] = await new Promise<[number]>((resolve) => starter.once("exit", (...all) => resolve(all as never)));
  expect(code).toBe(4);
  expect(at.companions()).toHaveLength(1);
  await endsByLimit(at, run);
});

it("it reads what a driver of the configuration prints, as far as the person who started the run trusts that", async () => {
  const at = lab();
  const program = join(at.folder, "echo-agent");
  const line = JSON.stringify({ type: "result", cost: 0.5 });
  writeFileSync(
    program,
    `#!/bin/sh\nuntil [ -e '${at.folder}/go' ]; do sleep 0.1; done\necho '${line}'\nexec sleep 300\n`,
    { mode: 0o755 },
  );
  const driver = { program, args: [], json: true, success: { result: { type: "result" } }, cost_usd: "cost" };
  const config = JSON.stringify({ drivers: { echo: driver } });
  writeFileSync(join(at.folder, "midwatch.config.json"), config);
  at.env["MIDWATCH_TRUST"] = createHash("sha256").update(config).digest("hex");
  const run = await at.json<RunRecord>("run", "--json", "--driver", "echo", "--limit-cost", "0.05", "x");
  kill((await at.comes()).pid);
  await at.comes(); // Started by the keeper, whose word alone would not be enough.
  await endsByLimit(at, run);
});

it("MIDWATCH_COMPANION=off: nobody comes, and `show` says so", async () => {
  const at = lab();
  at.env["MIDWATCH_COMPANION"] = "off";
  const { agent } = await at.loops();
  expect((await at.midwatch("show", agent)).stdout).toMatch(/watched +by nobody/);
  expect([at.companions(), at.starters(), at.record()]).toEqual([[], [], undefined]);
});
