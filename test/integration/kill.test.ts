// A kill as orchestrators know it: files deleted and archived add up to all there was, and everything still reads what was archived.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseTaskId } from "../../src/core/ids.ts";
import type { CleanupFact, FileReport, Report } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { keeperBinary } from "../../src/process/keeper-binary.ts";
import { CompanionLab } from "../support/companion.ts";
import { lab } from "../support/lab.ts";
import { stdioClient } from "../support/mcp/mcp-client.ts";
import { patient } from "../support/patience.ts";
import { type Lab, text, until } from "../support/workspace.ts";

const FIVE = ["prompt_file", "log_file", "progress_file", "findings_file", "deploy_log"];

interface View {
  agents: Record<string, unknown>[];
}
const viewOf = (at: Lab, task: string): View =>
  JSON.parse(readFileSync(join(at.root, task, "AGENT_REGISTRY.json"), "utf8"));

/** An agent with every file that one can have, and a descendant. */
async function busy(at: Lab, script = "echo one; echo two >&2; setsid sleep 300 & sleep 300"): Promise<RunRecord> {
  const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], prompt: "do it", role: "builder" });
  await until(() => text(record.log) !== "");
  at.workspace.mail.progress(record.agent, "working", "half of it", 50);
  at.workspace.mail.finding(record.agent, "bug", "low", "a small one");
  return record;
}

const paths = (files: readonly FileReport[], action: string): string[] =>
  files.filter((file) => file.action === action).map(({ path }) => path);

interface Killed {
  cleanup: { files_deleted: string[]; files_archived: string[]; files_kept: string[]; files_failed: unknown[] };
}

async function killed(at: Lab, input: object): Promise<Killed> {
  const { call } = await stdioClient(at, "modern");
  const { data, isError } = await call("kill_real_agent", input as never);
  expect([isError, data["success"]]).toEqual([false, true]);
  return data as unknown as Killed;
}

const trackedOf = (at: Lab, { task }: RunRecord): Record<string, string> =>
  viewOf(at, task).agents[0]?.["tracked_files"] as Record<string, string>;

describe("kill_real_agent", () => {
  it("R-002.3, R-002.4, R-002.15: prompt and deploy log go, log, findings and progress are archived at once: that is all there was", async () => {
    const at = lab();
    const record = await busy(at);
    const tracked = trackedOf(at, record);
    const before = Object.entries(tracked).filter(([name, path]) => name !== "run_folder" && existsSync(path));
    expect(before.map(([name]) => name)).toEqual(expect.arrayContaining(FIVE));
    const { cleanup } = await killed(at, { agent_id: record.agent, task_id: record.task, grace_seconds: 0 });
    const archive = join(at.root, record.task, "archive");
    // The run's own folder for temporary files is none that is tracked.
    const deleted = cleanup.files_deleted.filter((path) => path.startsWith(at.root));
    expect(deleted.sort()).toEqual([tracked["prompt_file"], tracked["deploy_log"]].sort());
    expect(cleanup.files_archived.map((path) => path.replace(`${archive}/${record.agent}_`, "")).sort()).toEqual(
      ["stream.1.jsonl", "stderr.1.log", "stream.1.idx", "progress.1.jsonl", "findings.1.jsonl"].sort(),
    );
    expect([cleanup.files_kept, cleanup.files_failed]).toEqual([[], []]);
    expect(deleted.length + cleanup.files_archived.length).toBe(before.length);
    for (const [name, path] of before) expect(existsSync(path), name).toBe(false);
    for (const path of cleanup.files_archived) expect(existsSync(path), path).toBe(true);
    expect(at.survivors()).toEqual([]);
  });

  it("R-002.3: with purge all five are among the deleted, and none fails", async () => {
    const at = lab();
    const record = await busy(at);
    const tracked = trackedOf(at, record);
    const { cleanup } = await killed(at, { agent_id: record.agent, purge: true, grace_seconds: 0 });
    for (const name of FIVE) expect(cleanup.files_deleted).toContain(tracked[name]);
    expect([cleanup.files_archived, cleanup.files_kept, cleanup.files_failed]).toEqual([[], [], []]);
  });

  it("R-002.15, R-000.42: the archived log is read, shown, searched and verified like any, and so are the reports", async () => {
    const at = lab();
    const record = await busy(at, "for i in 1 2 3; do echo line-$i; done; exec sleep 300");
    await until(() => text(record.log).includes("line-3"));
    const bytes = readFileSync(record.log);
    await killed(at, { agent_id: record.agent, grace_seconds: 0 });
    const { call } = await stdioClient(at, "legacy");
    const { data } = await call("get_agent_output", { agent_id: record.agent });
    expect(data["output"]).toMatchObject([{ text: "line-1" }, { text: "line-2" }, { text: "line-3" }]);
    expect((await at.cli("logs", "-n", "1", record.agent)).stdout).toBe("line-3\n");
    expect((await at.raw(record.agent)).equals(bytes)).toBe(true);
    const shown = await at.workspace.runs.show(record.agent);
    expect(shown).toMatchObject({ phase: "archived", outcome: "stopped", status: "terminated", bytes: bytes.length });
    expect(shown.log).toContain("/archive/");
    const log = shown.files.find(({ kind }) => kind === "log");
    expect(log).toMatchObject({ path: shown.log, sha256: createHash("sha256").update(bytes).digest("hex") });
    expect((await at.cli("search", "--json", "line-2")).stdout).toContain(record.agent);
    expect(JSON.parse((await at.cli("verify", "--json", record.agent)).stdout)).toMatchObject({ ok: true, lines: 3 });
    const { data: status } = await call("get_real_task_status", { task_id: record.task });
    expect(status["enhanced_progress"]).toMatchObject({
      recent_updates: [{ agent_id: record.agent, message: "half of it" }],
      recent_findings: [{ agent_id: record.agent, message: "a small one" }],
    });
    expect(status["agents"]).toMatchObject({ active: 0, agents_list: [{ status: "terminated" }] });
    expect(at.workspace.checkRegistry()).toEqual([]);
  });

  it("R-002.9: one setting changes either: stop_files of the configuration, or of the call", async () => {
    const at = lab();
    const asked: [(record: RunRecord) => Promise<unknown>, boolean][] = [
      [({ agent }) => at.cli("stop", "--grace", "0", agent), true],
      [({ agent }) => at.cli("stop", "--grace", "0", "--stop-files", "archive", agent), false],
      [({ agent }) => killed(at, { agent_id: agent, stop_files: "keep", grace_seconds: 0 }), true],
      [({ agent }) => killed(at, { agent_id: agent, grace_seconds: 0 }), false],
    ];
    for (const [end, stays] of asked) {
      const record = await busy(at);
      await end(record);
      expect(existsSync(record.log)).toBe(stays);
    }
    writeFileSync(join(at.folder, "midwatch.config.json"), '{"stop_files": "archive"}');
    const one = await busy(at);
    await at.cli("stop", "--grace", "0", one.agent);
    writeFileSync(join(at.folder, "midwatch.config.json"), '{"stop_files": "keep"}');
    const other = await busy(at);
    await killed(at, { agent_id: other.agent, grace_seconds: 0 });
    expect([existsSync(one.log), existsSync(other.log)]).toEqual([false, true]);
  });

  it("R-004.6: again, by several at once, it tells the same and changes nothing; after a plain stop it archives what that left", async () => {
    const at = lab();
    const record = await busy(at);
    const [first] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
    expect(paths(first?.files ?? [], "archived")).toEqual([]);
    const all = await Promise.all([1, 2, 3].map(() => killed(at, { agent_id: record.agent })));
    const [one] = all;
    expect(one?.cleanup.files_archived).toHaveLength(5);
    for (const { cleanup } of all) expect(cleanup).toEqual(one?.cleanup);
    expect(text(join(at.root, "events.log")).match(/"type":"cleanup.archived"/g)).toHaveLength(5);
    const [last] = await at.workspace.runs.stop([record.agent]);
    expect(paths(last?.files ?? [], "archived")).toEqual(one?.cleanup.files_archived);
  });
});

describe("what was moved to the archive", () => {
  it("R-002.5, R-002.19: a name that is taken there is never overwritten: told as failed, tried again by reap", async () => {
    const at = lab();
    const record = await busy(at);
    const taken = join(at.root, record.task, "archive", `${record.agent}_progress.1.jsonl`);
    mkdirSync(join(at.root, record.task, "archive"), { recursive: true });
    writeFileSync(taken, "mine\n");
    const { cleanup } = await killed(at, { agent_id: record.agent, grace_seconds: 0 });
    expect(cleanup.files_failed).toMatchObject([{ error: expect.stringContaining("never overwritten") }]);
    expect([cleanup.files_archived.length, text(taken)]).toEqual([4, "mine\n"]);
    rmSync(taken);
    await at.workspace.runs.reap();
    expect(text(taken)).toContain("half of it");
    expect(at.fact<CleanupFact>(record, "cleanup.json")?.failures).toEqual([]);
  });

  it("R-000.20, R-002.15: it is compressed when it is old enough, restored to its names, and goes with a prune", async () => {
    const at = lab();
    const record = await busy(at);
    await at.workspace.runs.stop([record.agent], { graceMs: 0, files: "archive" });
    const bytes = await at.raw(record.agent);
    const later = at.open({ config: { archive_after: 0 } });
    expect(await later.up.loop().round()).toMatchObject({ archived: 1 });
    expect((await later.runs.show(record.agent)).log).toMatch(/\.zst$/);
    expect(await at.raw(record.agent)).toEqual(bytes);
    const { files } = await at.workspace.files.restore(record.agent);
    expect(files.map(({ path }) => basename(path))).toContain(basename(record.log));
    expect(text(record.log)).toBe("one\n");
    expect(existsSync(join(at.root, record.task, "progress", `${record.agent}_progress.jsonl`))).toBe(true);
    expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "drained", log: record.log });
    await at.workspace.runs.stop([record.agent], { files: "archive" });
    await at.workspace.files.prune({ olderMs: 0 });
    const left = spawnSync("find", [at.root, "-name", `*${record.agent}*`, "-not", "-path", "*/trash/*"]);
    expect(left.stdout.toString()).toBe("");
  });

  it("R-000.38: a restart goes on after it, and the reports of both runs are told", async () => {
    const at = lab();
    const record = await busy(at);
    await at.workspace.runs.stop([record.agent], { graceMs: 0, files: "archive" });
    const next = await at.workspace.runs.restart(record.agent);
    expect(next.run).toBe(2);
    await until(() => text(next.log).includes("one"));
    at.workspace.mail.progress(record.agent, "working", "again");
    await at.workspace.runs.stop([record.agent], { graceMs: 0, files: "archive" });
    const said = at.workspace.mail.reports(parseTaskId(record.task), 5).progress.map(({ message }) => message);
    expect(said).toEqual(["again", "half of it"]);
    expect((await at.raw(record.agent, { run: 1 })).toString()).toBe("one\n");
    expect((await at.raw(record.agent, { run: 2 })).toString()).toContain("one\n");
  });

  it("R-004.1, R-004.18: a log that a process has open stays where it is; the rest is archived", async () => {
    const at = lab();
    const record = await busy(at);
    const hold = join(at.folder, "hold.cjs");
    writeFileSync(
      hold,
      `require("fs").openSync(process.argv[2], "a"); process.send("open"); setInterval(() => 0, 1000);`,
    );
    const holder = at.node(hold, record.log);
    await new Promise((resolve) => holder.once("message", resolve));
    const [report] = (await at.workspace.runs.stop([record.agent], { graceMs: 0, files: "archive" })) as [Report];
    expect(report.files.find(({ path }) => path === record.log)).toMatchObject({ action: "failed" });
    expect([report.verified, paths(report.files, "archived").length, existsSync(record.log)]).toEqual([true, 4, true]);
  });

  it("R-004.10, R-004.13: CLEANUP_ARCHIVE_DIR names the archive of a new task; whoever looks later finds it without", async () => {
    const at = lab();
    const named = at.open({ config: {}, env: { ...process.env, CLEANUP_ARCHIVE_DIR: "old" } });
    const record = await named.runs.start({ argv: ["sh", "-c", "echo one; exec sleep 300"] });
    await until(() => text(record.log) !== "");
    await at.cli("stop", "--grace", "0", "--stop-files", "archive", record.agent);
    expect(existsSync(join(at.root, record.task, "old", `${record.agent}_stream.1.jsonl`))).toBe(true);
    expect(existsSync(join(at.root, record.task, "archive"))).toBe(false);
    expect((await at.cli("logs", record.agent)).stdout).toBe("one\n");
    expect((await at.cli("archive", record.agent)).code).toBe(0);
    expect((await at.cli("logs", record.agent)).stdout).toBe("one\n");
    // A name that leads elsewhere, or into a folder of midwatch's, is none.
    const fact = join(at.root, record.task, "task.json");
    for (const archive_dir of ["../..", "logs", "/tmp", 7]) {
      writeFileSync(fact, JSON.stringify({ ...JSON.parse(text(fact)), archive_dir }));
      const { files } = await at.open().runs.show(record.agent);
      expect(files.every(({ path }) => path.startsWith(join(at.root, record.task)) && !path.includes(".."))).toBe(true);
    }
  });
});

describe("AGENT_REGISTRY.json", () => {
  function jq(filter: string, file: string): unknown[] {
    const asked = spawnSync("jq", ["-c", filter, file], { encoding: "utf8" });
    expect(asked.status, asked.stderr).toBe(0);
    return asked.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
  }
  const hasJq = spawnSync("jq", ["--version"]).status === 0;

  it.skipIf(!hasJq)(
    "R-002.1, R-002.10: jq finds the completed, the five files of the running, and the fields that orchestrators know",
    async () => {
      const at = lab();
      const record = await busy(at);
      const { agent, task } = record;
      for (const name of ["true", "false"]) {
        const over = await at.workspace.runs.start({ argv: [name], task: parseTaskId(task), name });
        await at.workspace.runs.wait([over.agent]);
      }
      const file = join(at.root, task, "AGENT_REGISTRY.json");
      expect(jq('.agents[] | select(.status=="completed") | .id', file)).toEqual([expect.stringMatching(/^true-/)]);
      expect(jq('.agents[] | select(.status=="failed") | .id', file)).toEqual([expect.stringMatching(/^false-/)]);
      const [five] = jq('.agents[] | select(.status == "running") | .tracked_files', file) as Record<string, string>[];
      for (const name of FIVE) expect(existsSync(five?.[name] ?? ""), name).toBe(true);
      expect(jq('.agents[] | select(.status == "running") | has("tracked_files")', file)).toEqual([true]);
      expect(jq(".active_count, .active, .total, .completed", file)).toEqual([1, 1, 3, 1]);
      expect(jq(`.agents[] | select(.id == "${agent}")`, file)).toMatchObject([
        {
          ...{ type: "builder", depth: 1, parent: null, status: "running", phase: "running", prompt: "do it" },
          ...{ tmux_session: null, progress: 50, progress_report: { message: "half of it", progress: 50 } },
          last_update: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          started_at: expect.any(String),
        },
      ]);
      // What it says next without a figure does not take the last figure back.
      at.workspace.mail.progress(agent, "blocked", "waiting");
      expect(jq(`.agents[] | select(.id == "${agent}") | [.status, .progress]`, file)).toEqual([["blocked", 50]]);
      await killed(at, { agent_id: agent, grace_seconds: 0 });
      expect(jq(`.agents[] | select(.id == "${agent}") | [.status, .progress]`, file)).toEqual([["terminated", 50]]);
      expect(jq(".active_count", file)).toEqual([0]);
    },
  );

  it("R-002.1: a prompt is cut at 200 characters, its secrets are hidden, and who was started by an agent is a step deeper", async () => {
    const at = lab();
    const token = "tok-5f3a9c1e77d24b08";
    const envFile = join(at.folder, "env");
    writeFileSync(envFile, `MY_API_TOKEN=${token}\n`);
    const prompt = `${"ü".repeat(185)} ${token} ${"x".repeat(100)}`;
    const { agent, task } = await at.workspace.runs.start({ argv: ["sleep", "300"], prompt, envFile });
    const child = await at.workspace.runs.start({
      argv: ["sleep", "300"],
      task: parseTaskId(task),
      parent: agent,
      prompt: "p",
    });
    const [one, two] = [agent, child.agent].map((of) => viewOf(at, task).agents.find(({ id }) => id === of));
    expect(text(join(at.root, task, "AGENT_REGISTRY.json"))).not.toContain(token.slice(0, 8));
    expect([...String(one?.["prompt"])]).toHaveLength(203);
    expect(one?.["prompt"]).toMatch(/^ü{185} \[masked\].*\.\.\.$/);
    expect([one?.["depth"], two?.["depth"], two?.["prompt"], two?.["parent"]]).toEqual([1, 2, "p", agent]);
  });
});

it("R-004.10, R-004.20: a search for what is left that takes longer than CLEANUP_PS_TIMEOUT proves nothing, and says so", async () => {
  const at = new CompanionLab();
  onTestFinished(() => at.end(), patient(60_000));
  const record = await at.sh("exec sleep 300");
  const slow = join(at.folder, "slow-keeper");
  const real = keeperBinary().path;
  writeFileSync(slow, `#!/bin/sh\n[ "$1" != scan ] || sleep 1\nexec "${real}" "$@"\n`, { mode: 0o755 });
  at.env["MIDWATCH_KEEPER"] = slow;
  at.env["CLEANUP_PS_TIMEOUT"] = "0.3";
  const late = await at.midwatch("stop", "--grace", "0", record.agent);
  expect(late).toMatchObject({ code: 1, stdout: expect.not.stringContaining("proof") });
  at.env["CLEANUP_PS_TIMEOUT"] = `${patient(30)}`;
  expect(await at.midwatch("stop", "--grace", "0", record.agent)).toMatchObject({ code: 0 });
});
