// Seed 002, in its order: its commands as they stand there, in the folder of the project, and its calls through MCP, with the defaults.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { speaker } from "../support/cli/speaker.ts";
import { lab } from "../support/lab.ts";
import { stdioClient, type TestClient } from "../support/mcp/mcp-client.ts";
import { type Lab, text, until } from "../support/workspace.ts";

const FIVE = ["prompt_file", "log_file", "progress_file", "findings_file", "deploy_log"];
const LINE = { type: "system", subtype: "init", session_id: "s", model: "claude-sonnet-4-5" };

/** With a stand-in for Claude Code on PATH, which prints a line and stays. */
async function project(): Promise<{ at: Lab; client: TestClient }> {
  const at = lab();
  vi.stubEnv("PATH", speaker(at.folder, [LINE], "exec sleep 300")["PATH"]);
  onTestFinished(() => void vi.unstubAllEnvs());
  return { at, client: await stdioClient(at, "modern") };
}

/** A line of the seed, in a shell. */
const shell = (at: Lab, command: string): string =>
  execFileSync("bash", ["-c", command], { cwd: at.folder, encoding: "utf8" });
const tools = ["jq", "lsof"].filter((tool) => spawnSync(tool, ["--version"]).error !== undefined);
for (const tool of tools) console.warn(`SKIPPED: ${tool} is not installed.`);
const needs = (tool: string): boolean => tools.includes(tool);

/** One with all five files, deployed and reporting through MCP. */
async function deployed({ call }: TestClient): Promise<{ agent_id: string; task_id: string }> {
  const { data } = await call("deploy_headless_agent", { driver: "claude", prompt: "do it", agent_type: "builder" });
  expect(data).toMatchObject({ success: true });
  const { agent_id, task_id, log_file } = data as Record<string, string>;
  await call("update_agent_progress", { agent_id, status: "working", message: "half of it", progress: 40 });
  await call("report_agent_finding", { agent_id, finding_type: "bug", severity: "low", message: "a small one" });
  await until(() => text(log_file ?? "") !== "");
  return { agent_id: agent_id ?? "", task_id: task_id ?? "" };
}

it.skipIf(needs("jq"))(
  "R-002.1, R-002.10, R-002.21: test 2: jq shows five paths of each running agent, and has() is true for all",
  async () => {
    const { at, client } = await project();
    const { agent_id, task_id } = await deployed(client);
    const registry = ".agent-workspace/TASK-*/AGENT_REGISTRY.json";
    const files = JSON.parse(shell(at, `jq '.agents[] | select(.status == "running") | .tracked_files' ${registry}`));
    for (const name of FIVE) expect([name, existsSync(files[name])]).toEqual([name, true]);
    expect(shell(at, `jq '.agents[] | select(.status == "running") | has("tracked_files")' ${registry}`)).toBe(
      "true\n",
    );
    const [entry] = JSON.parse(text(join(at.root, task_id, "AGENT_REGISTRY.json"))).agents;
    expect(entry).toMatchObject({
      id: agent_id,
      type: "builder",
      tmux_session: null,
      depth: 1,
      status: "running",
      started_at: expect.stringMatching(/Z$/),
      last_update: expect.stringMatching(/Z$/),
      progress: 40,
      prompt: "do it",
    });
  },
);

it.skipIf(needs("jq"))("R-002.21: active_count counts those that live, and jq finds the completed", async () => {
  const { at, client } = await project();
  const { task_id } = await deployed(client);
  const { data: over } = await client.call("deploy_headless_agent", { driver: "command", command: ["true"], task_id });
  await client.call("wait_for_agents", { agent_ids: [over["agent_id"]], timeout_seconds: 40 });
  const registry = ".agent-workspace/TASK-*/AGENT_REGISTRY.json";
  expect(shell(at, `jq .active_count ${registry}`)).toBe("1\n");
  expect(shell(at, `jq -r '.agents[] | select(.status=="completed") | .id' ${registry}`)).toBe(`${over["agent_id"]}\n`);
});

it("R-002.3, R-002.4, R-002.20, R-004.26: tests 1 and 3: kill_real_agent: every tracked file is deleted or archived, none failed; no prompt is left", async () => {
  const { at, client } = await project();
  const { agent_id, task_id } = await deployed(client);
  const [entry] = JSON.parse(text(join(at.root, task_id, "AGENT_REGISTRY.json"))).agents;
  const { data: result } = await client.call("kill_real_agent", { agent_id, task_id, reason: "test cleanup" });
  expect(result).toMatchObject({
    success: true,
    agent_id,
    tmux_session: null,
    session_killed: true,
    reason: "test cleanup",
    status: "terminated",
  });
  const { files_deleted, files_archived, files_failed } = result["cleanup"] as Record<string, string[]>;
  expect(files_failed).toEqual([]);
  for (const name of FIVE) expect([name, existsSync(entry.tracked_files[name])]).toEqual([name, false]);
  // Its assertion is five deleted; document 004 asks for the archive, so three of the five are there.
  const among = (paths: string[] | undefined, names: string[]): boolean[] =>
    names.map((name) => paths?.includes(entry.tracked_files[name]) ?? false);
  expect(among(files_deleted, ["prompt_file", "deploy_log"])).toEqual([true, true]);
  const kept = ["log_file", "progress_file", "findings_file"].map((name) => basename(entry.tracked_files[name]));
  for (const name of kept)
    expect(files_archived?.map((path) => basename(path))).toContain(name.replace(/\.jsonl$/, ".1.jsonl"));
  for (const path of files_archived ?? []) expect([path, existsSync(path)]).toEqual([path, true]);
  expect(
    spawnSync("bash", ["-c", "ls .agent-workspace/TASK-*/agent_prompt_*.txt"], { cwd: at.folder }).status,
  ).not.toBe(0);
  expect((await at.raw(agent_id)).toString()).toBe(`${JSON.stringify(LINE)}\n`);
});

it("R-002.3, R-002.4: test 3: with `purge` its assertions hold as they stand: five deleted, none failed", async () => {
  const { at, client } = await project();
  const { agent_id, task_id } = await deployed(client);
  const [{ tracked_files }] = JSON.parse(text(join(at.root, task_id, "AGENT_REGISTRY.json"))).agents;
  const { data: result } = await client.call("kill_real_agent", {
    task_id,
    agent_id,
    reason: "test cleanup",
    purge: true,
  });
  const { files_deleted, files_failed } = result["cleanup"] as Record<string, string[]>;
  expect(result["success"]).toBe(true);
  expect(FIVE.filter((name) => files_deleted?.includes(tracked_files[name]))).toHaveLength(5);
  expect(files_failed).toHaveLength(0);
});

it.skipIf(needs("lsof"))(
  "R-002.13: test 4: lsof shows who has the log open while it runs, and nobody after the kill",
  async () => {
    const { at, client } = await project();
    const { agent_id } = await deployed(client);
    const open = (): string => shell(at, `lsof 2>/dev/null | grep '${agent_id}_stream.jsonl' || true`);
    expect(open()).toContain(`${agent_id}_stream.jsonl`);
    await client.call("kill_real_agent", { agent_id });
    expect(open()).toBe("");
  },
);

it("R-002.11, R-002.12, R-002.19: its measures: prompt files = running agents, the size is told, no failed deletion is listed", async () => {
  const { at, client } = await project();
  const made = [await deployed(client), await deployed(client), await deployed(client)];
  const prompts = (): number => Number(shell(at, 'find .agent-workspace -name "agent_prompt_*.txt" | wc -l'));
  expect(prompts()).toBe(3);
  await client.call("kill_real_agent", { agent_id: made[0]?.agent_id });
  expect(prompts()).toBe(2);
  expect(shell(at, "du -sh .agent-workspace/")).toMatch(/^\S+\t\.agent-workspace\/\n$/);
  expect(shell(at, 'grep "Failed to delete" .agent-workspace/*/logs/*.json || true')).toBe("");
  expect(readdirSync(join(at.root, "active"))).toHaveLength(2);
});
