// The four tests that the seed of file tracking names, in its order, on real processes and files.
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { lab } from "../support/lab.ts";
import { type Lab, text, until } from "../support/workspace.ts";

interface ViewAgent {
  id: string;
  status: string;
  progress_report: { message: string } | null;
  tracked_files: Record<string, string>;
}

/** An agent that has every file an agent can have, and two descendants. */
async function busy(at: Lab, task?: string): Promise<RunRecord> {
  const script = "echo one; echo two >&2; setsid sleep 300 & sleep 300";
  const record = await at.workspace.runs.start({
    argv: ["sh", "-c", script],
    prompt: "do it",
    ...(task ? { task: task as never } : {}),
  });
  await until(() => text(record.log) !== "");
  at.workspace.mail.progress(record.agent, "working", "half of it");
  at.workspace.mail.finding(record.agent, "bug", "low", "a small one");
  return record;
}

const view = (at: Lab, task: string): { total: number; active: number; completed: number; agents: ViewAgent[] } =>
  JSON.parse(text(join(at.root, task, "AGENT_REGISTRY.json")));

/** What jq would print, where it is installed. */
function jq(filter: string, file: string): string[] | undefined {
  const asked = spawnSync("jq", ["-c", filter, file], { encoding: "utf8" });
  return asked.status === 0 ? asked.stdout.trim().split("\n") : undefined;
}

const FIVE = ["prompt_file", "log_file", "progress_file", "findings_file", "deploy_log"];

it("R-002.2, R-002.3: 1 an agent that is ended by hand leaves no file when that is asked for", async () => {
  const at = lab();
  const record = await busy(at);
  const files = view(at, record.task).agents[0]?.tracked_files ?? {};
  for (const name of FIVE) expect(existsSync(files[name] ?? ""), name).toBe(true);
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 100, purge: true });
  expect(report).toMatchObject({ verified: true, left: [] });
  for (const name of FIVE) expect(existsSync(files[name] ?? ""), name).toBe(false);
  expect(globSync("TASK-*/agent_prompt_*.txt", { cwd: at.root })).toEqual([]);
});

it("R-002.1, R-002.10, R-004.16: 2 the view lists the five files of every running agent, its newest progress, and counts", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("several");
  const records = [await busy(at, task), await busy(at, task)];
  const over = await at.workspace.runs.start({ argv: ["true"], task });
  await at.workspace.runs.wait([over.agent]);
  const { agents, ...counts } = view(at, task);
  expect(counts).toMatchObject({ total: 3, active: 2, completed: 1 });
  const running = agents.filter(({ status }) => status === "running");
  expect(running.map(({ id }) => id).sort()).toEqual(records.map(({ agent }) => agent).sort());
  for (const { tracked_files, progress_report } of running) {
    expect(Object.keys(tracked_files)).toEqual(expect.arrayContaining(FIVE));
    expect(progress_report?.message).toBe("half of it");
  }
  const path = join(at.root, task, "AGENT_REGISTRY.json");
  const five = jq('.agents[] | select(.status == "running") | .tracked_files', path)?.map((line) => JSON.parse(line));
  if (five !== undefined) for (const files of five) for (const name of FIVE) expect(files[name]).toContain(at.root);
  const has = jq('.agents[] | select(.status == "running") | has("tracked_files")', path);
  if (has !== undefined) expect(has).toEqual(["true", "true"]);

  const { files } = await at.workspace.runs.show(records[0]?.agent);
  expect(files.map(({ kind }) => kind)).toEqual([
    "prompt",
    "log",
    "stderr",
    "index",
    "deploy",
    "progress",
    "findings",
    "run",
    "summaries",
  ]);
  const log = files.find(({ kind }) => kind === "log");
  expect(log).toMatchObject({ bytes: 4, created_at: expect.stringMatching(/Z$/), sha256: null });
  expect(files.find(({ kind }) => kind === "run")?.bytes).toBeGreaterThan(0);
  const shown = await at.cli("show", "--files", records[0]?.agent ?? "");
  for (const { path: at_ } of files) expect(shown.stdout).toContain(at_);
});

it("R-002.3, R-002.5: 3 the report names what was deleted and what failed, and a closed file has its hash", async () => {
  const at = lab();
  const record = await busy(at);
  const [kept] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
  const log = kept?.files.find(({ path }) => path === record.log);
  expect(log).toMatchObject({ action: "kept", bytes: 4, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const { files } = await at.workspace.runs.show(record.agent);
  expect(files.find(({ kind }) => kind === "log")?.sha256).toBe(log?.sha256);
  const [report] = await at.workspace.runs.stop([record.agent], { purge: true });
  const deleted = report?.files.filter(({ action }) => action === "deleted").map(({ path }) => path) ?? [];
  const five = view(at, record.task).agents[0]?.tracked_files ?? {};
  for (const name of FIVE) expect(deleted).toContain(five[name]);
  expect(report?.files.filter(({ action }) => action === "failed")).toEqual([]);
  expect(report?.already_stopped).toBe(true);
});

it("R-002.13: 4 while it runs a process has the log open, afterwards none has", async () => {
  const at = lab();
  const record = await busy(at);
  const holders = (): number =>
    globSync("/proc/[0-9]*/fd/*").filter((path) => {
      try {
        return readlinkSync(path).includes(`${record.agent}_stream.jsonl`);
      } catch {
        return false;
      }
    }).length;
  expect(holders()).toBeGreaterThan(0);
  await at.workspace.runs.stop([record.agent], { graceMs: 0 });
  expect(holders()).toBe(0);
});
