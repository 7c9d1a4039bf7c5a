import { closeSync, existsSync, globSync, openSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { CleanupFact, DoneFact, Report, StopFact } from "../../src/core/types.ts";
import { identify } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { type Lab, lives, supportFile, text, until } from "../support/workspace.ts";

const READY = "echo ready; while :; do sleep 0.05; done";

async function stopped(at: Lab, script: string, graceMs: number): Promise<{ report: Report; log: string }> {
  const record = await at.sh(script);
  await until(() => text(record.log).includes("ready"));
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs });
  return { report: report as Report, log: (await at.raw(record.agent)).toString() };
}

const mainOf = (report: Report): unknown => report.processes.find(({ name }) => name === "sh")?.ended_by;

describe.each(["auto", "subreaper"] as Tier[])("a stop (tier %s)", (tier) => {
  it("R-002.18: asks first: an agent that listens ends its way, and what it prints then is kept", async () => {
    const { report, log } = await stopped(lab({ tier }), `trap "echo flushed; exit 5" INT; ${READY}`, patient(5000));
    expect(report).toMatchObject({ verified: true, outcome: "stopped", exit: { code: 5, signal: null }, left: [] });
    expect(mainOf(report)).toBe("SIGINT");
    expect(log).toBe("ready\nflushed\n");
  });

  it("R-002.18, R-004.2: asks again at half the grace, and kills at its end", async () => {
    const at = lab({ tier });
    const graceMs = patient(1000); // From the second signal to the last a shell has to get its turn.
    const deaf = await stopped(at, `trap "" INT; trap "echo term; exit 6" TERM; ${READY}`, graceMs);
    expect(deaf.report).toMatchObject({ verified: true, exit: { code: 6, signal: null } });
    expect([mainOf(deaf.report), deaf.log]).toEqual(["SIGTERM", "ready\nterm\n"]);
    expect(deaf.report.took_ms).toBeGreaterThanOrEqual(graceMs / 2 - 10);
    const stubborn = await stopped(at, `trap "" INT TERM; ${READY}`, 600);
    expect(stubborn.report).toMatchObject({ verified: true, exit: { code: null, signal: "SIGKILL" }, left: [] });
    // A keeper that gets no turn for two seconds is not waited for: then who asked for the stop kills, process by process.
    const byKeeper = stubborn.report.guarantee === "cgroup" && stubborn.report.took_ms < 2600;
    if (byKeeper) expect(mainOf(stubborn.report)).toBe("cgroup.kill");
    else expect(["cgroup.kill", "SIGKILL"]).toContain(mainOf(stubborn.report));
    expect(stubborn.report.took_ms).toBeGreaterThanOrEqual(590);
  });

  it("R-002.18: grace 0 kills at once", async () => {
    const { report, log } = await stopped(lab({ tier }), `trap "echo never; exit 5" INT TERM; ${READY}`, 0);
    expect(report).toMatchObject({ verified: true, exit: { code: null, signal: "SIGKILL" } });
    expect(log).toBe("ready\n");
  });

  it("R-004.4: ends what is started during the stop", async () => {
    const at = lab({ tier });
    const pids = join(at.folder, "pids");
    const more = `setsid sleep 300 & echo $! >>"${pids}"; (env -i sleep 300 & echo $! >>"${pids}")`;
    // Its second signal comes once it has started two more, whatever time that takes.
    const { report } = await stopped(at, `trap '${more}; exit 5' INT; ${READY}`, patient(5000));
    expect(report).toMatchObject({ verified: true, left: [] });
    const started = text(pids).trim().split("\n").map(Number);
    expect(started).toHaveLength(2);
    expect(report.processes.map(({ pid }) => pid)).toEqual(expect.arrayContaining(started));
    expect(started.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  });

  it("R-002.2, R-002.13: afterwards no process of it lives and none has a file of it open", async () => {
    const at = lab({ tier });
    const { report } = await stopped(at, `sleep 300 & sleep 300 & ${READY}`, 0);
    expect(report.processes_total).toBeGreaterThanOrEqual(3);
    expect(at.survivors()).toEqual([]);
    expect(openFiles(at.root).filter((path) => !path.includes("midwatch.db"))).toEqual([]);
  });
});

/** Files below a folder that any process has open. */
function openFiles(folder: string): string[] {
  return globSync("/proc/[0-9]*/fd/*").flatMap((path) => {
    try {
      const target = readlinkSync(path);
      return target.startsWith(folder) ? [target] : [];
    } catch {
      return [];
    }
  });
}

describe("exits", () => {
  it.each([
    ["exit 139", "exit 139", { code: 139, signal: null }],
    ["SIGSEGV", "kill -SEGV $$", { code: null, signal: "SIGSEGV" }],
    ["SIGKILL", "kill -KILL $$", { code: null, signal: "SIGKILL" }],
    ["exit 0 after SIGTERM", "trap 'exit 0' TERM; kill -TERM $$; sleep 5", { code: 0, signal: null }],
  ])("%s is told as it was", async (_, script, exit) => {
    const at = lab();
    const { agent } = await at.sh(script);
    const [over] = await at.workspace.runs.wait([agent], { timeoutMs: patient(10_000) });
    expect(over).toMatchObject({ phase: "drained", exit, outcome: exit.code === 0 ? "completed" : "failed" });
  });

  it("R-002.9, R-002.16, R-004.5: leftovers of an agent that ends by itself are ended, with nobody there to see it", async () => {
    const at = lab({ grace: "200ms" });
    const pids = join(at.folder, "pids");
    const leftovers = ["sleep 300", "setsid sleep 300", "env -i sleep 300"].map(
      (one) => `${one} & echo $! >>"${pids}"`,
    );
    const launcher = at.node(supportFile("worker/launch-server.ts"), at.root);
    await new Promise((resolve) => launcher.once("message", resolve));
    const go = join(at.folder, "go");
    const script = `${leftovers.join("\n")}\nuntil [ -e "${go}" ]; do sleep 0.02; done; exit 7`;
    launcher.send({ name: "leaves", argv: ["sh", "-c", script], prompt: "leave a mess" });
    const record = await new Promise<{ task: string; agent: string; run: number }>((resolve) =>
      launcher.once("message", (message) => resolve(message as never)),
    );
    launcher.kill("SIGKILL");
    await until(() => text(pids).split("\n").length === 4);
    const left = text(pids)
      .trim()
      .split("\n")
      .map((pid) => identify(Number(pid)));
    const prompt = join(at.root, record.task, `agent_prompt_${record.agent}.txt`);
    expect(text(prompt)).toBe("leave a mess");
    rmSync(go, { force: true });
    closeSync(openSync(go, "w"));
    const done = join(at.runDir(record as never), "done.json");
    await until(() => existsSync(done)); // No midwatch looks; only the file is watched.
    expect(left.filter(lives)).toEqual([]);
    expect(existsSync(prompt)).toBe(false);
    const fact = JSON.parse(text(done)) as DoneFact;
    expect(fact).toMatchObject({ verified: true, left: [] });
    expect(fact.processes.map(({ pid }) => pid)).toEqual(expect.arrayContaining(left.map(({ pid }) => pid)));
    expect(fact.removed.map(({ path }) => path)).toContain(prompt);
    const over = await at.workspace.runs.show(record.agent);
    expect(over).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: 7 } });
    // Asked to stop it, one gets the same report of files as after a stop.
    const [report] = await at.workspace.runs.stop([record.agent]);
    expect(report).toMatchObject({ already_stopped: true, verified: true, exit: { code: 7 } });
    expect(report?.files.find(({ path }) => path === prompt)).toMatchObject({ action: "deleted", bytes: 12 });
  });
});

describe("files", () => {
  it("R-002.1, R-002.10, R-004.11, R-004.16: AGENT_REGISTRY.json has the five paths of each running agent, its processes and its files' facts", async () => {
    const at = lab();
    const { task } = at.workspace.runs.makeTask("several");
    const script = "echo hello; exec sleep 300";
    const run = () => at.workspace.runs.start({ argv: ["sh", "-c", script], task: task, prompt: "p" });
    const records = await Promise.all([run(), run(), run()]);
    const [first] = records;
    const ends = await at.workspace.runs.start({ argv: ["true"], task });
    await at.workspace.runs.wait([ends.agent]);
    const view = JSON.parse(text(join(at.root, task, "AGENT_REGISTRY.json")));
    expect(view.task).toBe(task);
    expect(Math.abs(Date.now() - Date.parse(view.as_of))).toBeLessThan(patient(20_000));
    const running = view.agents.filter(({ status }: { status: string }) => status === "running");
    expect(running.map(({ id }: { id: string }) => id).sort()).toEqual(records.map(({ agent }) => agent).sort());
    for (const { id, tracked_files, file_facts, pid, keeper_pid } of running) {
      const record = records.find(({ agent }) => agent === id);
      expect({ pid, keeper_pid }).toEqual({ pid: record?.pid, keeper_pid: record?.keeper_pid });
      for (const name of ["prompt_file", "log_file", "progress_file", "findings_file", "deploy_log"])
        expect(tracked_files[name]).toContain(id);
      for (const name of ["prompt_file", "log_file", "deploy_log"]) {
        expect(existsSync(tracked_files[name])).toBe(true);
        expect(file_facts[name]).toMatchObject({ bytes: expect.any(Number), created_at: expect.stringMatching(/Z$/) });
      }
    }
    const gone = view.agents.find(({ id }: { id: string }) => id === ends.agent);
    expect(gone).toMatchObject({ status: "completed", phase: "drained", outcome: "completed", exit: { code: 0 } });
    await until(() => text(first.log) !== "");
    const { files } = await at.workspace.runs.show(first.agent);
    expect(files.find(({ kind }) => kind === "log")).toMatchObject({ bytes: 6, created_at: expect.any(String) });
  });

  it("R-002.11: there are as many prompt files as running agents, readable by their owner only", async () => {
    const at = lab();
    const prompts = (): string[] => globSync("TASK-*/agent_prompt_*.txt", { cwd: at.root });
    const go = join(at.folder, "go");
    const scripts = ["exec sleep 300", "exec sleep 300", `until [ -e "${go}" ]; do sleep 0.02; done`];
    const [a, b, c] = await Promise.all(
      scripts.map((script) => at.workspace.runs.start({ argv: ["sh", "-c", script], prompt: `secret ${script}` })),
    );
    expect(prompts()).toHaveLength(3);
    for (const path of prompts()) expect(statSync(join(at.root, path)).mode & 0o777).toBe(0o600);
    closeSync(openSync(go, "w"));
    await at.workspace.runs.wait([c?.agent]);
    expect(prompts()).toHaveLength(2);
    await at.workspace.runs.stop([a?.agent], { graceMs: 0 });
    expect(prompts()).toEqual([expect.stringContaining(b?.agent ?? "")]);
    await at.workspace.runs.stop([b?.agent], { graceMs: 0 });
    expect(prompts()).toEqual([]);
    await at.workspace.runs.restart(c?.agent);
    await at.workspace.runs.wait([c?.agent]);
    expect(prompts()).toEqual([]);
  });

  it("R-002.3, R-002.5, R-002.22, R-002.23, R-004.15, R-004.17: --purge deletes, reports each file, and the audit stays", async () => {
    const at = lab();
    const record = await at.sh("echo 12345; exec sleep 300");
    await until(() => text(record.log) !== "");
    const { code, stdout } = await at.cli(
      ...["stop", "--purge", "--reason", "not needed", "--grace", "0", "--json", record.agent],
    );
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Report;
    const action = (kind: string): unknown => report.files.find(({ path }) => path.includes(kind))?.action;
    expect([action("_stream.jsonl"), action("_stderr.log"), action("_stream.idx"), action("deploy_")]).toEqual(
      Array(4).fill("deleted"),
    );
    expect([action("_progress"), action("_findings"), action("agent_prompt")]).toEqual(Array(3).fill("missing"));
    expect(report.files.find(({ path }) => path === record.log)).toEqual({
      path: record.log,
      action: "deleted",
      bytes: 6,
      sha256: "f33ae3bc9a22cd7564990a794789954409977013966fb1a8f43c35776b833a95",
      error: null,
    });
    expect(report.freed_bytes).toBe(
      report.files.reduce((sum, { action: a, bytes }) => sum + (a === "deleted" ? (bytes ?? 0) : 0), 0),
    );
    for (const { path } of report.files) expect(existsSync(path)).toBe(false);
    expect(at.fact<StopFact>(record, "stop.json")).toMatchObject({
      reason: "not needed",
      by: { uid: process.getuid?.() },
    });
    expect(at.fact<CleanupFact>(record, "cleanup.json")?.files).toEqual(report.files);
    expect(at.fact<DoneFact>(record, "done.json")?.processes).toEqual(report.processes);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({
      phase: "drained",
      outcome: "stopped",
      bytes: 6,
    });
  });

  it("R-002.5, R-002.19, R-004.8, R-004.18: a file that a stranger has open for writing is not deleted; the rest is, and it can be listed later", async () => {
    const at = lab();
    const record = await at.sh("echo 12345; exec sleep 300");
    await until(() => text(record.log) !== "");
    const stranger = openSync(record.log, "a");
    const purge = async (): Promise<Report> =>
      (await at.workspace.runs.stop([record.agent], { graceMs: 0, purge: true }))[0] as Report;
    try {
      const report = await purge();
      expect(report).toMatchObject({ verified: true, outcome: "stopped" });
      expect(report.files.filter(({ action }) => action === "failed")).toEqual([
        expect.objectContaining({ path: record.log, error: expect.stringContaining("open for writing") }),
      ]);
      expect(report.files.filter(({ action }) => action === "deleted").length).toBeGreaterThanOrEqual(3);
      expect(text(record.log)).toBe("12345\n");
      const failed = at.fact<CleanupFact>(record, "cleanup.json")?.files.filter(({ action }) => action === "failed");
      expect(failed?.map(({ path }) => path)).toEqual([record.log]);
    } finally {
      closeSync(stranger);
    }
    const again = await purge();
    expect(again).toMatchObject({ already_stopped: true, verified: true });
    expect(again.files.find(({ path }) => path === record.log)?.action).toBe("deleted");
    expect(existsSync(record.log)).toBe(false);
  });

  it("R-002.6, R-002.7: files that are gone already are no failure, and an agent without any can be stopped", async () => {
    const at = lab();
    const record = await at.sh("exec sleep 300");
    for (const { path, kind } of (await at.workspace.runs.show(record.agent)).files)
      if (kind !== "run") rmSync(path, { force: true });
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0, purge: true });
    expect(report).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    expect(report?.files.filter(({ error }) => error !== null)).toEqual([]);
    expect(at.survivors()).toEqual([]);
  });

  it("R-004.6: a stop of an agent that has ended does nothing twice and says so", async () => {
    const at = lab();
    const record = await at.sh("exec sleep 300");
    const [first] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
    const audit = text(at.sealed(record));
    const { code, stdout } = await at.cli("stop", "--json", record.agent);
    expect([code, JSON.parse(stdout)]).toEqual([0, { ...first, already_stopped: true, took_ms: 0 }]);
    expect([audit, existsSync(at.runDir(record))]).toEqual([text(at.sealed(record)), false]);
  });

  it("R-002.8: a live view and the log on disk work at once", async () => {
    const at = lab();
    const lines = Array.from({ length: 40 }, (_, i) => `${i + 1}\n`).join("");
    const record = await at.sh("for i in $(seq 40); do echo $i; sleep 0.03; done");
    const [followed, again] = await Promise.all([
      at.cli("logs", "-f", "-n", "1000", record.agent),
      at.cli("logs", "-f", "-n", "1000", record.agent),
    ]);
    expect([followed.stdout, again.stdout, text(record.log)]).toEqual([lines, lines, lines]);
  });
});

it("R-004.10: the grace time is configured by flag, variable or file", async () => {
  const at = lab();
  const record = await at.sh(`trap "" INT TERM; ${READY}`);
  await until(() => text(record.log) !== "");
  const workspace = at.open({ config: {}, env: { ...process.env, CLEANUP_GRACE_PERIOD: "0.3" } });
  const [report] = await workspace.runs.stop([record.agent]);
  expect(report?.verified).toBe(true);
  expect(report?.took_ms).toBeGreaterThanOrEqual(290);
  expect(at.fact<StopFact>(record, "stop.json")?.grace_ms).toBe(300);
});
