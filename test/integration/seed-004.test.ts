// The seven tests that the seed of cleanup names, in its order, on real process trees. It archives at once, so archive_after is 0.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { CleanupFact } from "../../src/core/types.ts";
import { identify } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { CLI, lives, text, until } from "../support/workspace.ts";

const archiveOf = (root: string, { task, agent }: { task: string; agent: string }): string =>
  join(root, task, "archive", `${agent}_stream.1.jsonl.zst`);

it("R-004.24, R-004.17: 1 a complete cleanup: all ended, each file told, the log archived, nobody left", async () => {
  const at = lab({ archive_after: 0 });
  const script = "echo kept; echo too >&2; setsid sleep 300 & sleep 300";
  const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], prompt: "p" });
  await until(() => text(record.log) !== "");
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 100 });
  expect(report).toMatchObject({ verified: true, left: [], outcome: "stopped", processes_total: 3 });
  const action = (name: string): unknown => report?.files.find(({ path }) => path.includes(name))?.action;
  expect([
    action("agent_prompt"),
    action("_stream.1.jsonl.zst"),
    action("_stderr.1.log.zst"),
    action("deploy_"),
  ]).toEqual(["deleted", "archived", "archived", "kept"]);
  expect(report?.files.filter(({ error }) => error !== null)).toEqual([]);
  expect([existsSync(record.log), existsSync(archiveOf(at.root, record))]).toEqual([false, true]);
  expect((await at.raw(record.agent)).toString()).toBe("kept\n");
  expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "archived", outcome: "stopped", bytes: 5 });
  expect(at.fact<CleanupFact>(record, "cleanup.json")?.files).toEqual(report?.files);
  expect(at.survivors()).toEqual([]);
});

it("R-004.24, R-004.1, R-002.13: 2 processes that have the log open are ended before it is touched: the archive is complete", async () => {
  const at = lab({ archive_after: 0 });
  // Three writers of one log, two of them outside the main process's session, busy until the last moment.
  const writer = 'i=0; while :; do i=$((i+1)); echo "$0 $i"; done';
  const record = await at.sh(`setsid sh -c '${writer}' a & setsid sh -c '${writer}' b & exec sh -c '${writer}' c`);
  await until(() => statSync(record.log).size > 200_000);
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
  const told = report?.files.find(({ path }) => path === archiveOf(at.root, record));
  const log = await at.raw(record.agent);
  expect([report?.verified, told?.action, told?.bytes]).toEqual([true, "archived", log.length]);
  for (const name of ["a", "b", "c"]) {
    const numbers = log
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
  const { task } = at.workspace.runs.makeTask("five");
  const records = await Promise.all(
    Array.from({ length: 5 }, () => at.workspace.runs.start({ argv: ["sleep", "300"], task })),
  );
  const stops = await Promise.all(records.map(({ agent }) => at.cli("stop", "--grace", "0", "--json", agent)));
  expect(stops.map(({ code, stdout }) => [code, JSON.parse(stdout).verified])).toEqual(stops.map(() => [0, true]));
  expect(readdirSync(join(at.root, "active"))).toEqual([]);
  const rows = await at.workspace.runs.list({ all: true });
  expect(rows.map(({ phase, outcome }) => [phase, outcome])).toEqual(rows.map(() => ["drained", "stopped"]));
  const { total, active } = JSON.parse(text(join(at.root, task, "AGENT_REGISTRY.json")));
  expect({ total, active }).toEqual({ total: 5, active: 0 });
  expect(at.workspace.checkRegistry()).toEqual([]);
});

it("R-004.24, R-004.2, R-004.3: 4 zombies are dead, and whoever refuses to end is killed: none is left in the process table", async () => {
  const at = lab();
  const record = await at.sh(`sleep 0.01 & (trap "" INT TERM HUP; echo deaf; exec sleep 300) & exec sleep 300`);
  const { pid } = record;
  const children = (): string[] => text(`/proc/${pid}/task/${pid}/children`).trim().split(" ");
  await until(() => children().some((child) => text(`/proc/${child}/stat`).includes(") Z ")));
  await until(() => text(record.log) === "deaf\n");
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 300 });
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(report?.processes.map(({ ended_by }) => ended_by)).toEqual(
    expect.arrayContaining([expect.stringMatching(/SIGKILL|cgroup.kill/)]),
  );
  expect([existsSync(`/proc/${pid}`), at.survivors()]).toEqual([false, []]);
});

it("R-004.24, R-004.18, R-004.8: 5 with resources missing or held the rest is done and each failure told", async () => {
  const at = lab({ archive_after: 0 });
  const script = "echo x; echo y >&2; exec sleep 300";
  const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], prompt: "p" });
  const { files } = await at.workspace.runs.show(record.agent);
  const path = (kind: string): string => files.find((file) => file.kind === kind)?.path ?? "";
  await until(() => text(path("stderr")) !== "");
  process.kill(record.pid ?? 0, "SIGKILL"); // Dead already,
  rmSync(path("prompt"), { force: true }); // its prompt gone,
  const stranger = openSync(path("stderr"), "a"); // and a file in use by somebody else.
  onTestFinished(() => closeSync(stranger));
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
  expect(report?.verified).toBe(true);
  const action = (name: string): unknown => report?.files.find((file) => file.path.includes(name))?.action;
  expect([action("_stderr.log"), action("_stream.1.jsonl.zst"), action("deploy_")]).toEqual([
    "failed",
    "archived",
    "kept",
  ]);
  expect(action("agent_prompt")).toMatch(/missing|deleted/); // As its keeper was quicker or not.
  expect(text(path("stderr"))).toBe("y\n");
  expect(at.fact<CleanupFact>(record, "cleanup.json")).toMatchObject({
    files: report?.files,
    failures: [{ path: path("stderr"), step: "archive", tries: 1, error: expect.stringContaining("open for writing") }],
  });
});

it("R-004.24, R-004.5, R-004.6, R-002.9, R-002.16: 6 an agent that says it is done and ends is cleaned up by itself, once", async () => {
  const at = lab({ grace: "200ms", archive_after: 0 });
  const go = join(at.folder, "go");
  const script = `setsid sleep 300 & echo $!; until [ -e "${go}" ]; do sleep 0.02; done`;
  const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], prompt: "p" });
  await until(() => text(record.log) !== "");
  const leftover = identify(Number(text(record.log)));
  at.workspace.mail.progress(record.agent, "completed", "all done");
  closeSync(openSync(go, "w"));
  await until(() => existsSync(join(at.runDir(record), "done.json"))); // Nobody asked for anything.
  expect([lives(leftover), at.survivors()]).toEqual([false, []]);
  expect(existsSync(join(at.root, record.task, `agent_prompt_${record.agent}.txt`))).toBe(false);
  await at.workspace.up.loop().round();
  expect(existsSync(archiveOf(at.root, record))).toBe(true);
  expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "archived", outcome: "completed" });
  expect(readdirSync(join(at.root, "active"))).toEqual([]);
  const fact = text(at.sealed(record));
  const [report] = await at.workspace.runs.stop([record.agent]);
  expect(report).toMatchObject({ already_stopped: true, verified: true, outcome: "completed" });
  expect(text(at.sealed(record))).toBe(fact);
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

it("R-004.24, R-004.9: 7 among 1,000 other processes a stop ends and cleans up its agent, and they all live on", async () => {
  const at = lab({ archive_after: 0 });
  const record = await at.sh('trap "" INT TERM; sleep 300 & echo ready; while :; do sleep 0.05; done');
  await until(() => text(record.log) !== "");
  const others = await bystanders(1000, record.agent, at.folder);
  const begun = performance.now();
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 200 });
  // The bar of 2 s is bench/cleanup.ts's: here other tests run beside it.
  console.log("a stop with cleanup among 1,000 processes, grace 200 ms:", Math.round(performance.now() - begun), "ms");
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(report?.files.find(({ path }) => path === archiveOf(at.root, record))?.action).toBe("archived");
  expect(text(`/proc/${others.pid}/task/${others.pid}/children`).trim().split(" ")).toHaveLength(1000);
});

it("R-004.12: an agent can stop what it started, and neither stops nor clears away what is others'", async () => {
  const at = lab();
  const other = await at.sh("exec sleep 300");
  const midwatch = `"${process.execPath}" "${CLI}" --workspace "${at.root}"`;
  const tries = [`stop --purge ${other.agent}`, "prune --older 0", "reap --lost"];
  const script = tries.map((words) => `${midwatch} ${words} --json 2>&1`).join("; ");
  const child = `${midwatch} run --json --name child -- sleep 300`;
  const agent = await at.sh(`${child}; ${script}; ${midwatch} stop --json child-`);
  await at.workspace.runs.wait([agent.agent]);
  const lines = (await at.raw(agent.agent))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.slice(1, 4).map(({ error }) => error?.code)).toEqual(tries.map(() => "REFUSED_RIGHT"));
  expect(lines[4]).toMatchObject({ agent: lines[0].agent, verified: true, outcome: "stopped" });
  expect((await at.workspace.runs.show(other.agent)).phase).toBe("running");
  expect((await at.workspace.runs.show(lines[0].agent)).parent).toBe(agent.agent);
});
