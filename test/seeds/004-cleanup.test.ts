// Seed 004: its seven tests in its order, through MCP as its kill_real_agent is called, with the defaults. test/integration/seed-004.test.ts has the
// same by `stop`, with archives that are compressed at once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../gate/citations.ts";
import { lab } from "../support/lab.ts";
import { stdioClient, type TestClient } from "../support/mcp/mcp-client.ts";
import { type Lab, text, until } from "../support/workspace.ts";

interface Deployed {
  agent_id: string;
  task_id: string;
  log_file: string;
}

async function deployed({ call }: TestClient, script: string, more: object = {}): Promise<Deployed> {
  const { data } = await call("deploy_headless_agent", { driver: "command", command: ["sh", "-c", script], ...more });
  expect(data).toMatchObject({ success: true });
  return data as unknown as Deployed;
}

async function mainOf(at: Lab, { agent_id }: Deployed): Promise<number> {
  return at.startFact(await at.workspace.runs.show(agent_id)).main?.pid as number;
}

interface Cleanup {
  files_deleted: string[];
  files_archived: string[];
  files_failed: unknown[];
}

async function killed({ call }: TestClient, agent_id: string): Promise<Cleanup> {
  const { data } = await call("kill_real_agent", { agent_id });
  expect(data).toMatchObject({ success: true, session_killed: true, status: "terminated" });
  return data["cleanup"] as Cleanup;
}

const archive = (at: Lab, { agent_id, task_id }: Deployed): string =>
  join(at.root, task_id, "archive", `${agent_id}_stream.1.jsonl`);

it("R-004.24, R-004.17: 1 test_cleanup_agent_resources_success: all cleaned, the logs are in the archive, nobody is left", async () => {
  const at = lab();
  const client = await stdioClient(at, "modern");
  const one = await deployed(client, "echo kept; setsid sleep 300 & exec sleep 300");
  await until(() => text(one.log_file) !== "");
  const { files_deleted, files_archived, files_failed } = await killed(client, one.agent_id);
  expect(files_failed).toEqual([]);
  expect(files_archived).toContain(archive(at, one));
  expect(text(archive(at, one))).toBe("kept\n");
  for (const path of [one.log_file, ...files_deleted]) expect([path, existsSync(path)]).toEqual([path, false]);
  expect(at.survivors()).toEqual([]);
});

it("R-004.24, R-004.1: 2 test_cleanup_with_open_file_handles: three that write until they are killed: the archive has every line that was printed", async () => {
  const at = lab();
  const client = await stdioClient(at, "modern");
  const writer = 'i=0; while :; do i=$((i+1)); echo "$0 $i"; done';
  const one = await deployed(
    client,
    `setsid sh -c '${writer}' a & setsid sh -c '${writer}' b & exec sh -c '${writer}' c`,
  );
  await until(() => statSync(one.log_file).size > 200_000);
  expect((await killed(client, one.agent_id)).files_failed).toEqual([]);
  const lines = text(archive(at, one)).split("\n");
  for (const name of ["a", "b", "c"]) {
    const numbers = lines.filter((line) => line.startsWith(`${name} `)).map((line) => Number(line.slice(2)));
    // A last line may be cut by the kill; what stands before it is all there, in order, once.
    expect(numbers.slice(0, -1)).toEqual(Array.from({ length: Math.max(0, numbers.length - 1) }, (_, n) => n + 1));
  }
});

it("R-004.24, R-004.7, R-002.21: 3 test_concurrent_cleanup_thread_safety: five killed at once: active_count is 0, all are terminated, the registry is sound", async () => {
  const at = lab();
  const client = await stdioClient(at, "modern");
  const first = await deployed(client, "exec sleep 300");
  const { task_id } = first;
  const others = await Promise.all([1, 2, 3, 4].map(() => deployed(client, "exec sleep 300", { task_id })));
  await Promise.all([first, ...others].map(({ agent_id }) => killed(client, agent_id)));
  const { active_count, agents } = JSON.parse(text(join(at.root, task_id, "AGENT_REGISTRY.json")));
  expect(active_count).toBe(0);
  expect(agents.map(({ status }: { status: string }) => status)).toEqual(Array(5).fill("terminated"));
  expect(at.workspace.checkRegistry()).toEqual([]);
  expect(readdirSync(join(at.root, "active"))).toEqual([]);
});

it("R-004.24, R-004.2, R-004.3: 4 test_zombie_process_cleanup: a zombie, and one that refuses to end: none is left in the process table", async () => {
  const at = lab();
  const client = await stdioClient(at, "modern");
  const one = await deployed(client, `sleep 0.01 & (trap "" INT TERM HUP; echo deaf; exec sleep 300) & exec sleep 300`);
  const pid = await mainOf(at, one);
  const children = (): string[] => text(`/proc/${pid}/task/${pid}/children`).trim().split(" ");
  await until(() => children().some((child) => text(`/proc/${child}/stat`).includes(") Z ")));
  await until(() => text(one.log_file) === "deaf\n");
  const all = [pid, ...children()];
  await killed(client, one.agent_id);
  for (const child of all) expect([child, existsSync(`/proc/${child}`)]).toEqual([child, false]);
  expect(at.survivors()).toEqual([]);
});

it("R-004.24, R-004.18: 5 test_cleanup_partial_failure: its process dead already and its progress file gone: the log is archived, and it is a success", async () => {
  const at = lab();
  const client = await stdioClient(at, "modern");
  const one = await deployed(client, "echo x; setsid sleep 300 & exec sleep 300");
  await until(() => text(one.log_file) !== "");
  await client.call("update_agent_progress", {
    agent_id: one.agent_id,
    status: "working",
    message: "half",
    progress: 50,
  });
  rmSync(join(at.root, one.task_id, "progress", `${one.agent_id}_progress.jsonl`));
  process.kill(await mainOf(at, one), "SIGKILL");
  const { data } = await client.call("kill_real_agent", { agent_id: one.agent_id });
  expect(data).toMatchObject({ success: true, cleanup: { files_failed: [] } });
  expect(text(archive(at, one))).toBe("x\n");
  expect(at.survivors()).toEqual([]);
});

it("R-004.5, R-004.24, R-004.27: 6 update_agent_progress(status='completed'): its processes end, its prompt goes and its log is archived, and nobody asked for it", async () => {
  const at = lab({ done_silence: "1s" });
  const { call } = await stdioClient(at, "modern");
  const command = ["sh", "-c", "echo done; exec sleep 300"];
  const { data } = await call("deploy_headless_agent", { driver: "command", command });
  expect(data).toMatchObject({ success: true });
  const { agent_id, task_id, log_file } = data as Record<string, string>;
  await until(() => text(log_file ?? "") !== "");
  await call("update_agent_progress", { agent_id, status: "completed", message: "all done", progress: 100 });
  const prompt = join(at.root, task_id ?? "", `agent_prompt_${agent_id}.txt`);
  const loop = at.workspace.up.loop();
  await until(async () => {
    await loop.round();
    return (await at.workspace.runs.show(agent_id)).outcome !== null;
  });
  expect(existsSync(prompt)).toBe(false);
  expect(at.survivors()).toEqual([]);
  await until(() => !existsSync(log_file ?? ""));
  expect((await at.raw(agent_id ?? "")).toString()).toBe("done\n");
});

it("R-004.9, R-004.24: 7 among 1,000 other processes a stop with its cleanup is over in less than 2 s", async () => {
  const at = lab();
  const record = await at.sh("sleep 300 & echo ready; wait");
  await until(() => text(record.log) !== "");
  const script = "i=0; while [ $i -lt 1000 ]; do sleep 120 & i=$((i+1)); done; echo up; wait";
  const others = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    const gone = once(others, "exit");
    process.kill(-(others.pid ?? 0), "SIGKILL"); // Its own group: exactly what was started here.
    await gone;
  });
  await once(others.stdout, "data");
  const begun = performance.now();
  const [report] = await at.workspace.runs.stop([record.agent]);
  const elapsed = performance.now() - begun;
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(text(`/proc/${others.pid}/task/${others.pid}/children`).trim().split(" ")).toHaveLength(1000);
  expect(elapsed).toBeLessThan(2000);
});

it("R-004.21: recommended fix 8, sub-functions: none of a stop, its cleanup and the keeper has more than 60 lines (the document's has 195)", () => {
  const files = globSync(["src/run/stop*.ts", "src/files/*.ts", "keeper/*.c"], {
    cwd: ROOT,
    exclude: ["**/*.test.ts"],
  });
  const long = files.flatMap((file) => {
    const source = readFileSync(join(ROOT, file), "utf8");
    return (file.endsWith(".c") ? functionsInC(source) : functionsIn(source)).map((lines) => ({ file, lines }));
  });
  expect(long.length).toBeGreaterThan(300); // It finds them.
  expect(long.filter(({ lines }) => lines > 60)).toEqual([]);
});

/** How many lines each has, those within others too. */
function functionsIn(source: string): number[] {
  const found: number[] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    const { type, start, end } = node as { type?: string; start: number; end: number };
    if (type?.includes("Function")) found.push(source.slice(start, end).split("\n").length);
    for (const child of Object.values(node)) walk(child);
  };
  walk(parseAst(source, { lang: "ts" }));
  return found;
}

/** As the keeper is formatted: a body ends with a brace at the beginning of a line. */
const functionsInC = (source: string): number[] =>
  [...source.matchAll(/^(?:static )?[a-z][\w *]*\([^;{]*\{\n[\s\S]*?^\}$/gm)].map(([text]) => text.split("\n").length);
