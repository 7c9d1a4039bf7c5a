/** The demo: scripted agents in a workspace of its own, with everything that usually goes wrong. No key, no network. */
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentId } from "./core/ids.ts";
import type { Report } from "./core/types.ts";
import { removeTree } from "./disk/inside.ts";
import { openWorkspace, type RunRecord, type Workspace } from "./fleet.ts";
import { startSelf } from "./process/self.ts";

/** A line every 20 ms, numbered, so that a gap can be seen. */
const STEADY = 'i=0; while :; do i=$((i+1)); echo "{\\"type\\":\\"progress\\",\\"n\\":$i}"; sleep 0.02; done';
/** Leaves the usual mess: a daemon in its own session, one without the environment, one deaf to signals. */
const MESSY =
  'echo starting servers; setsid sh -c "trap : INT TERM; while :; do sleep 1; done" & env -i setsid sleep 300 & (sleep 300 &); echo working; sleep 300';
const HUNG = "echo thinking...; trap : INT TERM; while :; do sleep 1; done";
const DONE = 'echo "all tests pass"; exit 0';
const BROKEN = 'echo "cannot find module parser" >&2; exit 3';

/** Each item is one thing to show, as text. */
export async function* demo(signal: AbortSignal, env: NodeJS.ProcessEnv): AsyncGenerator<string> {
  const folder = mkdtempSync(join(tmpdir(), "midwatch-demo-"));
  const workspace = openWorkspace({
    workspace: join(folder, ".agent-workspace"),
    make: true,
    cwd: folder,
    env,
    config: { grace: "1s" },
  });
  try {
    yield* scenes(workspace, folder, signal, env);
  } finally {
    const live = (await workspace.list()).map(({ agent }) => agent);
    if (live.length > 0) await workspace.stop(live, { graceMs: 0, reason: "end of the demo" });
    workspace.close();
    removeTree(tmpdir(), basename(folder));
  }
}

async function* scenes(
  workspace: Workspace,
  folder: string,
  signal: AbortSignal,
  env: NodeJS.ProcessEnv,
): AsyncGenerator<string> {
  yield "1. Five agents start, each under its own keeper. Their output goes to files, not through a pipe.";
  const scripts = { messy: MESSY, hung: HUNG, done: DONE, broken: BROKEN };
  // The steady one is started by another midwatch process that waits for it: the one to be killed.
  const other = startSelf(
    ["run", "--json", "--wait", "--name", "steady", "--workspace", workspace.root, "--", "sh", "-c", STEADY],
    env,
  );
  const [line] = (await once(other.stdout as NodeJS.ReadableStream, "data", { signal })) as [Buffer];
  const steady = JSON.parse(line.toString().split("\n")[0] ?? "{}") as RunRecord;
  for (const [name, script] of Object.entries(scripts))
    await workspace.run({ argv: ["sh", "-c", script], name, cwd: folder });
  await sleep(1200, undefined, { signal });
  yield* table(workspace);

  yield `2. The midwatch process that started ${steady.agent} is killed with SIGKILL. Nothing above a keeper holds truth.`;
  const before = await lastNumber(workspace, steady.agent);
  const ended = once(other, "exit", { signal });
  other.kill("SIGKILL");
  await ended;
  await sleep(1000, undefined, { signal });
  const after = await lastNumber(workspace, steady.agent);
  yield `   It printed line ${before} before and line ${after} after the kill; lines missing: ${await gaps(workspace, steady.agent)}.`;

  yield "3. This process takes over and stops everything: every process of every agent, with proof.";
  const agents = (await workspace.list()).map(({ agent }) => agent);
  const reports = await workspace.stop(agents, { reason: "demo" });
  yield* reports.filter(({ already_stopped }) => !already_stopped).map(receiptLine);
  yield* table(workspace);
  const left = reports.reduce((sum, report) => sum + report.left.length, 0);
  const total = reports.reduce((sum, report) => sum + report.processes_total, 0);
  yield `   ${total} processes ended, ${left} left, ${reports.every(({ verified }) => verified) ? "all verified" : "NOT all verified"}.`;
  yield "Yours: midwatch run -- COMMAND, then midwatch ls, logs -f, stop. `midwatch help` lists the rest.";
}

async function* table(workspace: Workspace): AsyncGenerator<string> {
  for (const { agent, phase, outcome, exit, bytes } of await workspace.list()) {
    const how = exit.signal ?? (exit.code === null ? "" : `exit ${exit.code}`);
    yield `   ${agent.padEnd(22)} ${(outcome ?? phase).padEnd(10)} ${how.padEnd(8)} ${bytes} bytes`;
  }
}

function receiptLine(report: Report): string {
  const by = [...new Set(report.processes.map(({ ended_by }) => ended_by))].join(", ");
  return `   ${report.agent.padEnd(22)} ${report.processes_total} processes ended (${by}), ${report.left.length} left, ${report.took_ms} ms, proof: ${report.guarantee}`;
}

async function numbers(workspace: Workspace, agent: AgentId): Promise<number[]> {
  const found: number[] = [];
  for await (const { data } of workspace.logRecords(agent)) found.push((data as { n: number }).n);
  return found;
}

async function lastNumber(workspace: Workspace, agent: AgentId): Promise<number> {
  return (await numbers(workspace, agent)).at(-1) ?? 0;
}

async function gaps(workspace: Workspace, agent: AgentId): Promise<number> {
  const seen = await numbers(workspace, agent);
  return (seen.at(-1) ?? 0) - new Set(seen).size;
}
