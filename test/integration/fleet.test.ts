import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ConfigInput } from "../../src/core/config/config.ts";
import type { TaskFact } from "../../src/core/intent.ts";
import type { ListRecord, ShowRecord } from "../../src/core/types.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, until } from "../support/workspace.ts";

const lines = (text: string): string[] => text.trim().split("\n");
/** `midwatch ...` as an agent's shell calls it. */
const MIDWATCH = `"${process.execPath}" "${CLI}"`;

interface Told {
  type: string;
  agent?: string;
  content: string;
}

function events(at: Lab, type: string): Told[] {
  return lines(readFileSync(join(at.root, "events.log"), "utf8"))
    .map((line) => JSON.parse(line) as Told)
    .filter((event) => event.type === type);
}

/** A CLI of our own: prints its input as a JSON result, told of in the configuration. */
function withEcho(at: Lab, more: object = {}): void {
  writeFileSync(
    join(at.folder, "echo-agent"),
    `#!${process.execPath}
const { readFileSync } = require("node:fs");
const input = readFileSync(0, "utf8");
const usage = { in: 100, out: 20 };
console.log(JSON.stringify({ type: "begin", session: process.argv[3] || "s-1", args: process.argv.slice(2) }));
if (!input.includes("NO RESULT")) console.log(JSON.stringify({ type: "result", text: input, usage, cost: 0.5 }));
if (input.includes("LINGER")) setInterval(() => undefined, 1000);
process.exitCode = input.includes("EXIT 3") ? 3 : 0;
`,
    { mode: 0o755 },
  );
  const driver = {
    program: join(at.folder, "echo-agent"),
    args: [
      ["--resume", "{resume}"],
      ["--model", "{model}"],
    ],
    json: true,
    success: { result: { type: "result" } },
    session: "session",
    text: "text",
    cost_usd: "cost",
    tokens: { input: "usage.in", output: "usage.out" },
  };
  const config = { drivers: { echo: driver }, ...more };
  writeConfig(at.folder, config);
}

it("a prompt reaches the CLI by its input, with the task round it; result, tokens and cost are read from the stream", async () => {
  const at = lab();
  withEcho(at);
  const task = at.workspace.runs.makeTask("Port the parser", {
    priority: "high",
    deliverables: ["all tests pass"],
    constraints: ["no new dependency"],
    files: ["src/parse.ts"],
  });
  const started = await at.cli(
    "run",
    "--json",
    "--wait",
    "--driver",
    "echo",
    "--task",
    task.task,
    "--role",
    "porter",
    "Do {task} now",
  );
  const [record, shown] = lines(started.stdout).map((line) => JSON.parse(line)) as [ListRecord, ShowRecord];
  expect(started.code).toBe(0);
  expect(shown).toMatchObject({ outcome: "completed", reason: null, driver: "echo", cost_usd: 0.5 });
  expect(shown.tokens).toEqual({ input: 100, output: 20, cache_read: 0, cache_write: 0 });
  const log = (await at.raw(record.agent)).toString();
  for (const part of [
    "Do {task} now",
    "Port the parser",
    "high",
    "all tests pass",
    "no new dependency",
    "src/parse.ts",
    record.agent,
  ])
    expect(log).toContain(part);
  // Neither in the arguments of a process nor left behind in its file.
  expect(at.intent(record).argv.join(" ")).not.toContain("now");
  expect(readdirSync(join(at.root, record.task)).filter((name) => name.startsWith("agent_prompt"))).toEqual([]);
});

it("exit 0 without a result is no success, and says why", async () => {
  const at = lab();
  withEcho(at);
  for (const [prompt, outcome] of [
    ["NO RESULT", "failed"],
    ["EXIT 3", "failed"],
  ] as const) {
    const { stdout } = await at.cli("run", "--json", "--wait", "--driver", "echo", prompt);
    const shown = JSON.parse(lines(stdout)[1] ?? "") as ShowRecord;
    expect(shown).toMatchObject({ outcome, reason: expect.stringMatching(/./) });
  }
});

it("restart --resume goes on with the CLI's own session and tells it more", async () => {
  const at = lab();
  withEcho(at);
  const workspace = at.open();
  const { agent } = await workspace.runs.start({ driver: "echo", prompt: "begin" });
  await workspace.runs.wait([agent]);
  const again = await at.cli("restart", "--json", agent, "--resume", "and now the tests");
  expect(again.code).toBe(0);
  const [ended] = await workspace.runs.wait([agent]);
  expect(ended).toMatchObject({ run: 2, outcome: "completed" });
  const [begin, result] = lines((await at.raw(agent)).toString());
  expect(JSON.parse(begin ?? "").args).toEqual(["--resume", "s-1"]);
  expect(JSON.parse(result ?? "").text).toBe("and now the tests");
  const other = await at.sh("true");
  await workspace.runs.wait([other.agent]);
  expect(await at.cli("restart", other.agent, "--resume")).toMatchObject({ code: 2 });
});

it("tokens and cost over their limit end the run with outcome limit", async () => {
  const at = lab({ cost_limit: "0.4" });
  withEcho(at);
  const workspace = at.open();
  const { agent } = await workspace.runs.start({ driver: "echo", prompt: "LINGER" });
  const loop = workspace.up.loop();
  await until(async () => (await loop.round()).stopped.length > 0, 20_000);
  expect(await workspace.runs.show(agent)).toMatchObject({
    outcome: "limit",
    reason: expect.stringMatching(/^Stopped: \$0\.40 cost limit reached\. \$[\d.]+ spent in the end, \$[\d.]+ over\.$/),
  });
});

it("a limit of cost holds for a CLI that tells its cost only at its end: what it used has a price", async () => {
  const at = lab({ cost_limit: "0.05" });
  const usage = { input_tokens: 20_000, output_tokens: 100 };
  const message = { id: "m-1", model: "claude-opus-4-5", content: [{ type: "text", text: "on it" }], usage };
  const line = JSON.stringify({ type: "assistant", message });
  writeFileSync(join(at.folder, "claude"), `#!/bin/sh\necho '${line}'\nexec sleep 1000\n`, { mode: 0o755 });
  const workspace = at.open({ env: { PATH: `${at.folder}:/usr/bin:/bin` } });
  const { agent } = await workspace.runs.start({ driver: "claude", prompt: "loop" });
  const loop = workspace.up.loop();
  await until(async () => (await loop.round()).stopped.length > 0, 20_000);
  expect(await workspace.runs.show(agent)).toMatchObject({ outcome: "limit" });
});

it("with another policy a passed limit is told once, and the agent is interrupted or left alone", async () => {
  for (const policy of ["interrupt", "notify"] as const) {
    const at = lab({ token_limit: 100, limit_policy: policy });
    withEcho(at);
    const workspace = at.open();
    const { agent } = await workspace.runs.start({ driver: "echo", prompt: "LINGER" });
    const loop = workspace.up.loop();
    const told = () => events(at, "agent.limit");
    await until(async () => (await loop.round()).stopped.length === 0 && told().length > 0, 20_000);
    await loop.round();
    expect(told()).toMatchObject([{ agent, content: expect.stringContaining(`${agent} passed its tokens limit: `) }]);
    if (policy === "interrupt")
      expect((await workspace.runs.wait([agent]))[0]).toMatchObject({
        outcome: "limit",
        reason: "was interrupted: it passed its tokens limit (120 tokens, at most 100). 120 spent in the end, 20 over.",
        exit: { signal: "SIGINT" },
      });
    else expect(await workspace.runs.show(agent)).toMatchObject({ phase: "running" });
  }
});

it("a time limit that interrupts: the outcome is limit, unless the agent completes all the same; the event names it", async () => {
  const at = lab({ wall_limit: "300ms", limit_policy: "interrupt", grace: "20s" });
  const ends = await at.run("sleep", "300");
  const goes = await at.sh("trap '' INT; sleep 1; echo done");
  expect(await at.workspace.runs.wait([ends.agent, goes.agent])).toMatchObject([
    { outcome: "limit", reason: "was interrupted: it passed its wall limit", exit: { signal: "SIGINT" } },
    { outcome: "completed", reason: null, exit: { code: 0 } },
  ]);
  expect(events(at, "agent.limit").map(({ content }) => content)).toEqual(
    expect.arrayContaining([`${ends.agent} passed its wall limit`, `${goes.agent} passed its wall limit`]),
  );
});

it("a time limit that interrupts: one that goes on all the same is stopped when its grace is over", async () => {
  const at = lab({ wall_limit: "300ms", limit_policy: "interrupt" });
  const goes = await at.sh("trap '' INT; sleep 300");
  expect(await at.workspace.runs.wait([goes.agent])).toMatchObject([
    { outcome: "limit", reason: "Stopped: 300 ms time limit reached.", limit: { limit: "wall", value: 300 } },
  ]);
});

it("an agent whose driver is not configured any more is told once, and the round goes on for the others", async () => {
  const at = lab({ token_limit: 1_000_000, max_running: 1 });
  withEcho(at);
  const { agent } = await at.open().runs.start({ driver: "echo", prompt: "LINGER", name: "odd" });
  writeFileSync(join(at.folder, "midwatch.config.json"), "{}");
  const workspace = at.open();
  const waiting = await workspace.runs.start({ argv: ["true"], queue: true, name: "waits" });
  const loop = workspace.up.loop();
  await loop.round();
  await loop.round();
  const troubles = events(at, "error");
  expect(troubles).toMatchObject([{ agent, content: expect.stringContaining(`${agent} cannot be looked after: `) }]);
  await workspace.runs.stop([agent]);
  await until(async () => (await loop.round()).started > 0, 20_000);
  expect((await workspace.runs.wait([waiting.agent]))[0]).toMatchObject({ outcome: "completed" });
});

it("a run whose records cannot be written is told as running, with its id", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("records");
  const logs = join(at.root, task, "logs");
  const onStep = (step: string): void => {
    if (step !== "answered") return;
    const [log = ""] = readdirSync(logs).filter((name) => name.endsWith("_stream.jsonl"));
    mkdirSync(join(logs, `deploy_${log.replace("_stream.jsonl", "")}.json`, "in the way"), { recursive: true });
  };
  const record = await at.open({ onStep }).runs.start({ argv: ["sleep", "300"], task });
  expect(record).toMatchObject({
    phase: "running",
    warning: expect.stringContaining(`${record.agent} was started, but`),
  });
  expect(record.error).toBeUndefined();
});

it("R-000.14: progress and findings are kept, and answered with what the peers said", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("together");
  const [a, b] = await Promise.all(
    ["a", "b"].map((name) => at.workspace.runs.start({ argv: ["sleep", "300"], name, task })),
  );
  await at.cli("progress", a?.agent ?? "", "working", "half way", "--percent", "50");
  await at.cli("finding", a?.agent ?? "", "bug", "high", "the last line is lost", "--data", '{"file":"x.ts"}');
  const answer = JSON.parse((await at.cli("progress", "--json", b?.agent ?? "", "working", "begun")).stdout);
  expect(answer).toMatchObject({
    status: "working",
    peer_progress: [{ agent_id: a?.agent, status: "working", message: "half way", progress: 50 }],
    peer_findings: [{ agent_id: a?.agent, finding_type: "bug", severity: "high", data: { file: "x.ts" } }],
    disk: { state: "ok", free_bytes: expect.any(Number) },
  });
  const disk = (config: ConfigInput) => at.open({ config }).mail.progress(b?.agent ?? "", "working", "on").disk;
  expect([disk({ disk_warn: 9e15 })?.state, disk({ disk_warn: 9e15, disk_refuse: 8e15 })?.state]).toEqual([
    "warning",
    "error",
  ]);
  const file = join(at.root, task, "progress", `${a?.agent}_progress.jsonl`);
  expect(lines(readFileSync(file, "utf8")).map((line) => JSON.parse(line).message)).toEqual(["half way"]);
  for (const bad of [
    ["progress", a?.agent ?? "", "Not One Word", "x"],
    ["progress", a?.agent ?? "", "working", "x", "--percent", "101"],
    ["finding", a?.agent ?? "", "bug", "enormous", "x"],
    ["finding", a?.agent ?? "", "bug", "low", "x", "--data", "{"],
    ["progress", "working"],
  ])
    expect((await at.cli(...bad)).code).toBe(2);
});

it("R-004.12: an agent reports for itself, starts agents below it and stops those, nothing else, whatever its environment says", async () => {
  const at = lab();
  const other = await at.sh("exec sleep 300");
  const script = [
    `${MIDWATCH} progress working fine`,
    `${MIDWATCH} run --name kid -- sleep 300`,
    `${MIDWATCH} progress ${other.agent} working lie; echo "code $?"`,
    `${MIDWATCH} stop ${other.agent}; echo "code $?"`,
    `env -i PATH="$PATH" ${MIDWATCH} stop --workspace "${at.root}" ${other.agent}; echo "code $?"`,
    `MIDWATCH_AGENT=${other.agent} ${MIDWATCH} stop ${other.agent}; echo "code $?"`,
    `(setsid sh -c '${MIDWATCH} stop ${other.agent}; echo "code $?"' &) ; sleep 2`,
    `${MIDWATCH} task more; echo "code $?"`,
    `${MIDWATCH} restart ${other.agent}; echo "code $?"`,
    `${MIDWATCH} reap --lost; echo "code $?"`,
    `${MIDWATCH} stop --grace 0 kid; echo "code $?"`,
  ].join("\n");
  const boss = await at.sh(script);
  await at.workspace.runs.wait([boss.agent], { timeoutMs: patient(60_000) });
  const printed = lines((await at.raw(boss.agent)).toString());
  expect(printed.filter((line) => line.startsWith("code"))).toEqual([...Array(8).fill("code 4"), "code 0"]);
  const listed = await at.workspace.runs.list();
  expect(listed.find(({ agent }) => agent === other.agent)).toMatchObject({ phase: "running" });
  const kid = listed.find(({ agent }) => agent.startsWith("kid"));
  // It works on its parent's task, and is shown below it.
  expect((await at.workspace.runs.show(boss.agent)).children).toMatchObject([
    { agent: kid?.agent, outcome: "stopped", children: [] },
  ]);
  expect((await at.cli("show", boss.agent)).stdout).toContain(`  ${kid?.agent}  stopped`);
  expect(kid).toMatchObject({ parent: boss.agent, task: boss.task, outcome: "stopped" });
});

it("a self-reported end does not end an agent that still shows signs of life", async () => {
  const at = lab();
  const { agent } = await at.sh("exec sleep 300");
  at.workspace.mail.progress(agent, "completed", "all done");
  expect(await at.workspace.up.loop().round()).toMatchObject({ started: 0, stopped: [] });
  expect(await at.workspace.runs.show(agent)).toMatchObject({ phase: "running" });
  // Without a sign of life for that long it is.
  const loop = at.open({ config: { done_silence: "300ms" } }).up.loop();
  await until(async () => (await loop.round()).stopped.length > 0, 10_000);
  expect(await at.workspace.runs.show(agent)).toMatchObject({
    outcome: "stopped",
    reason: expect.stringContaining("completed"),
  });
});

it("20 queued runs with max_running 4: never more at once, none forgotten, also when the one who starts them is killed", async () => {
  const at = lab();
  const count = join(at.folder, "count");
  const script = `echo + >> "${count}"; sleep 0.3; echo - >> "${count}"`;
  const agents: string[] = [];
  for (let i = 0; i < 20; i++)
    agents.push((await at.workspace.runs.start({ argv: ["sh", "-c", script], queue: true })).agent);
  expect((await at.workspace.runs.list()).filter(({ queued }) => queued)).toHaveLength(20);
  const up = at.node(CLI, "up", "--max-running", "4", "--workspace", at.root);
  await until(() => readdirSync(at.folder).includes("count"), 20_000);
  up.kill("SIGKILL");
  const waited = await at.cli("wait", "--json", "--max-running", "4", "--timeout", `${patient(60_000)}ms`, ...agents);
  expect(lines(waited.stdout).map((line) => (JSON.parse(line) as ShowRecord).outcome)).toEqual(
    Array(20).fill("completed"),
  );
  let running = 0;
  let most = 0;
  for (const sign of lines(readFileSync(count, "utf8"))) {
    running += sign === "+" ? 1 : -1;
    most = Math.max(most, running);
  }
  expect([most <= 4, running]).toEqual([true, 0]);
});

it("a queued run can be stopped before its turn, and one that can never start does not hold up the rest", async () => {
  const at = lab();
  const first = await at.workspace.runs.start({ argv: ["sleep", "300"], queue: true });
  const [report] = await at.workspace.runs.stop([first.agent]);
  expect(report).toMatchObject({ verified: true, outcome: "stopped" });
  const doomed = await at.workspace.runs
    .start({ argv: ["true"], queue: true, envFile: join(at.folder, "env") })
    .catch(() => undefined);
  expect(doomed).toBeUndefined(); // The file is not there: said at once.
  writeFileSync(join(at.folder, "env"), "A=1\n");
  const late = await at.workspace.runs.start({ argv: ["true"], queue: true, envFile: join(at.folder, "env") });
  const good = await at.workspace.runs.start({ argv: ["true"], queue: true });
  writeFileSync(join(at.folder, "env"), "not a variable\n");
  const ended = await at.workspace.runs.wait([late.agent, good.agent], { timeoutMs: patient(20_000) });
  expect(ended.map(({ phase, outcome }) => [phase, outcome])).toEqual([
    ["launch_failed", "failed"],
    ["drained", "completed"],
  ]);
});

it("run --each starts an agent for each line; the environment file reaches it and is kept nowhere", async () => {
  const at = lab();
  withEcho(at);
  writeFileSync(join(at.folder, "prompts"), "first\n\nsecond\n");
  const { stdout, code } = await at.cli(
    "run",
    "--json",
    "--wait",
    "--driver",
    "echo",
    "--each",
    join(at.folder, "prompts"),
  );
  expect([code, lines(stdout).length]).toEqual([0, 4]);
  writeFileSync(join(at.folder, "env"), "THE_SECRET='hunter2 hunter2'\n");
  const run = await at.workspace.runs.start({
    argv: ["sh", "-c", '[ "$(printenv THE_SECRET | wc -c)" = 16 ]'],
    envFile: "env",
  });
  expect((await at.workspace.runs.wait([run.agent]))[0]).toMatchObject({ outcome: "completed" });
  expect(JSON.stringify(at.intent(run))).not.toContain("hunter2");
  expect(await at.cli("run", "--driver", "echo", "--each", join(at.folder, "prompts"), "both")).toMatchObject({
    code: 2,
  });
  expect((await at.cli("run", "--driver", "codx", "x")).stderr).toContain("Did you mean");
});

it("a task takes no more live agents than it says", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("small", { max_agents: 1 }) as TaskFact;
  await at.workspace.runs.start({ argv: ["sleep", "300"], task });
  await expect(at.workspace.runs.start({ argv: ["sleep", "300"], task })).rejects.toMatchObject({
    code: "REFUSED_LIMIT",
  });
});

it("time limits: wall and idle end the run with outcome limit", async () => {
  const wall = lab({ wall_limit: "300ms" });
  const busy = await wall.sh("while :; do echo x; sleep 0.02; done");
  const idle = lab({ idle_limit: "300ms" });
  const quiet = await idle.sh("echo once; exec sleep 300");
  expect((await wall.workspace.runs.wait([busy.agent]))[0]).toMatchObject({
    outcome: "limit",
    reason: "Stopped: 300 ms time limit reached.",
  });
  expect((await idle.workspace.runs.wait([quiet.agent]))[0]).toMatchObject({
    outcome: "limit",
    reason: "Stopped: 300 ms silence limit reached.",
  });
});
