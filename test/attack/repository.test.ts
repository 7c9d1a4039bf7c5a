/**
 * A repository that was cloned and brings its own `.agent-workspace`, configuration and git folders. Whatever command is typed in it:
 * nothing of it is run, signalled, sent or changed, each command says what it ignored, and what it holds can be read.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { operations } from "../../src/operations/index.ts";
import { readProcess } from "../../src/process/identity.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { type Hostile, hostile, TASK } from "../support/hostile.ts";
import { stdioClient } from "../support/mcp/mcp-client.ts";
import { CLI, ended } from "../support/workspace.ts";

/** Every operation with what a person would type; `refused` are those that would act. */
function calls({
  agents: { ended, queued, lost },
}: Hostile): Record<string, { argv?: string[]; code: number | number[] }> {
  const [ok, refused] = [0, 4];
  return {
    run: { argv: ["run", "--", "true"], code: refused },
    status: { code: ok },
    ls: { argv: ["ls", "--all"], code: ok },
    show: { argv: ["show", lost], code: ok },
    logs: { argv: ["logs", lost], code: ok },
    page: { argv: ["page", ended], code: ok },
    timeline: { argv: ["timeline", lost], code: ok },
    diff: { argv: ["diff", lost], code: refused },
    watch: { argv: ["watch", "--once"], code: refused },
    summary: { argv: ["summary", lost], code: [ok, 4] },
    cost: { code: ok },
    budget: { code: ok },
    "budget set": { argv: ["budget", "set", "day", "5"], code: refused },
    "budget raise": { argv: ["budget", "raise", "day", "5"], code: refused },
    wait: { argv: ["wait", queued, "--timeout", "1s"], code: [ok, 1] },
    stop: { argv: ["stop", lost, queued], code: refused },
    restart: { argv: ["restart", ended], code: refused },
    send: { argv: ["send", lost, "hello"], code: refused },
    messages: { argv: ["messages", lost], code: ok },
    attach: { argv: ["attach", ended], code: [ok, 1, 2, 4, 5] },
    task: { argv: ["task", "mine"], code: refused },
    tasks: { code: ok },
    progress: { argv: ["progress", lost, "working", "x"], code: refused },
    finding: { argv: ["finding", lost, "bug", "high", "x"], code: refused },
    event: { argv: ["event", "1", "A", "note", "x"], code: refused },
    events: { code: ok },
    snapshot: { code: refused },
    checkpoint: { argv: ["checkpoint", ended, "1"], code: refused },
    sync: { code: refused },
    leader: { code: ok },
    lead: { argv: ["lead", "--timeout", "1s"], code: refused },
    claim: { argv: ["claim", TASK], code: refused },
    health: { code: [ok, 1] },
    "alert test": { argv: ["alert", "test", "out"], code: refused },
    "alert status": { code: ok },
    up: { argv: ["up", "--once", "--no-http"], code: refused },
    hosts: { code: [2, 3, 5] },
    drain: { argv: ["drain", "host"], code: [2, 3, 4, 5] },
    "nats init": { argv: ["nats", "init", "--help"], code: ok },
    metrics: { code: ok },
    mcp: { argv: ["mcp"], code: ok },
    "mcp install": { argv: ["mcp", "install", "--help"], code: ok },
    search: { argv: ["search", "stranger"], code: ok },
    verify: { argv: ["verify", ended], code: [ok, 1] },
    archive: { argv: ["archive", ended], code: refused },
    restore: { argv: ["restore", ended], code: refused },
    "jsonl tail": { argv: ["jsonl", "tail", ".agent-workspace/events.log"], code: ok },
    "jsonl page": { argv: ["jsonl", "page", ".agent-workspace/events.log"], code: ok },
    "jsonl count": { argv: ["jsonl", "count", ".agent-workspace/events.log"], code: ok },
    "jsonl verify": { argv: ["jsonl", "verify", ".agent-workspace/events.log"], code: ok },
    "jsonl append": { argv: ["jsonl", "append", ".agent-workspace/events.log", "{}"], code: 5 },
    reap: { code: refused },
    prune: { code: refused },
    pin: { argv: ["pin", ended], code: refused },
    doctor: { code: [ok, 5] },
    uninstall: { code: ok },
    trust: { argv: ["trust", "--show"], code: ok },
    demo: { argv: ["demo", "--help"], code: ok },
    completion: { argv: ["completion", "bash"], code: ok },
    version: { argv: ["--version"], code: ok },
  };
}

/** Every file below it, with what it holds. */
function tree(path: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const at = join(path, entry.name);
    if (entry.isDirectory()) for (const [name, sum] of tree(at)) found.set(name, sum);
    else if (entry.isSymbolicLink()) found.set(at, readlinkSync(at));
    else found.set(at, createHash("sha256").update(readFileSync(at)).digest("hex"));
  }
  return found;
}

it.each(["the state folder of this user", "another state folder"])(
  "in a cloned repository no operation runs, signals, sends or changes anything of it (%s)",
  async (which) => {
    const made = await hostile();
    const state = which.startsWith("another") ? folder() : process.env["XDG_STATE_HOME"];
    const env = { ...process.env, XDG_STATE_HOME: state, MIDWATCH_GRACE: "500ms" };
    const table = calls(made);
    expect(Object.keys(table).sort()).toEqual(operations.map(({ name }) => name).sort());
    const before = tree(made.cwd);
    for (const [name, { argv = name.split(" "), code }] of Object.entries(table)) {
      const child = (): ReturnType<typeof ended> =>
        ended(spawn(process.execPath, [CLI, ...argv], { cwd: made.cwd, env, stdio: ["ignore", "pipe", "pipe"] }));
      const answer = name === "mcp" || name === "attach" ? await child() : await midwatch(made.cwd, argv, env);
      expect([code].flat(), `${name}: ${answer.stderr}`).toContain(answer.code);
      expect(answer.stderr, name).not.toContain("INTERNAL");
      expect(existsSync(made.victim), `${name} ran something of it`).toBe(false);
      expect(readProcess(made.bystander), `${name} ended a bystander`).toBeDefined();
      expect(made.connections(), `${name} reached a stranger's server`).toBe(0);
      expect(tree(made.cwd), `${name} changed something`).toEqual(before);
      if (answer.code === 4) expect(answer.stderr, name).toContain("midwatch trust");
    }
    const shown = await midwatch(made.cwd, ["show", made.agents.ended], env);
    expect(shown.stderr).toMatch(/is not trusted: drivers, alerts, .*sync_remote.* do not count. Next: midwatch trust/);
    expect(shown.stderr).toMatch(/is only read: .* Next: midwatch trust --workspace/);
    expect((await midwatch(made.cwd, ["logs", made.agents.ended], env)).stdout).toBe("an ended agent of a stranger\n");
  },
);

it("an MCP client in a cloned repository sees its agents, and none of its code runs", async () => {
  const made = await hostile();
  const { call } = await stdioClient({ folder: made.cwd }, "modern");
  const before = tree(made.cwd);
  const listed = await call("list_agents", {});
  expect(listed.text).toContain(made.agents.ended);
  for (const [tool, args] of [
    ["get_agent_output", { agent_id: made.agents.ended }],
    ["get_agent_summary", { agent_id: made.agents.ended }],
    ["search_logs", { text: "stranger" }],
    ["get_communication", {}],
    ["wait_for_agents", { agent_ids: [made.agents.queued], timeout_seconds: 1 }],
    ["deploy_headless_agent", { driver: "command", command: ["true"], prompt: "x" }],
    ["kill_real_agent", { agent_id: made.agents.lost }],
    ["log_event", { interaction: 1, actor: "A", type: "note", content: "x" }],
  ] as const)
    await call(tool, args);
  expect([existsSync(made.victim), made.connections(), readProcess(made.bystander) !== undefined]).toEqual([
    false,
    0,
    true,
  ]);
  expect(tree(made.cwd)).toEqual(before);
});
