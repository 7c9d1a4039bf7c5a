/** The demo: scripted agents in a workspace of its own, with everything that usually goes wrong. No key, no network. */

import { once } from "node:events";
import { mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentId } from "../core/ids.ts";
import type { Report } from "../core/types.ts";
import { removeTree } from "../disk/inside.ts";
import { type AgentSummary, openWorkspace, type Workspace } from "../fleet/workspace.ts";
import { openBrowser } from "../process/browser.ts";
import { startSelf } from "../process/self.ts";
import { PARTS, placeAgents, SETTINGS } from "./agents.ts";

export interface DemoOptions {
  /** Ends by itself; else it goes on until the signal. */
  once: boolean;
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
  progress(text: string): void;
}

interface Stage extends DemoOptions {
  workspace: Workspace;
  folder: string;
  agents: Map<string, AgentId>;
  server: Server | undefined;
}

const VERDICTS_MS = 30_000;
const GOES_ON_MS = 1000;

/** Each item is something to show, as text. */
export async function* demo(options: DemoOptions): AsyncGenerator<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-demo-")));
  const PATH = [placeAgents(folder), options.env["PATH"]].join(delimiter);
  const env: NodeJS.ProcessEnv = { ...options.env, PATH };
  // A demo that was started inside a run is no part of that run.
  for (const name of Object.keys(env)) if (/^MIDWATCH_(?!KEEPER$)/.test(name)) delete env[name];
  writeFileSync(join(folder, "midwatch.config.json"), JSON.stringify(SETTINGS));
  const workspace = openWorkspace({ workspace: join(folder, ".agent-workspace"), make: true, cwd: folder, env });
  const stage: Stage = { ...options, env, workspace, folder, agents: new Map(), server: undefined };
  // Whoever reads may go at any `yield`: then only what is in a `finally` is still done.
  try {
    yield* scenes(stage);
    yield* curtain(stage);
  } finally {
    await leave(stage);
  }
  yield '\nNothing of it is left. Yours: midwatch run "...", then midwatch, logs -f, stop; `midwatch help` lists the rest.';
}

/** Nothing of it stays: no process, no folder. */
async function leave({ workspace, server, folder, progress }: Stage): Promise<void> {
  progress("");
  try {
    await server?.kill();
    const live = (await workspace.runs.list()).filter(({ outcome }) => outcome === null || outcome === "lost");
    const agents = live.map(({ agent }) => agent);
    if (agents.length > 0) await workspace.runs.stop(agents, { graceMs: 0, reason: "end of the demo" });
  } finally {
    workspace.close();
    removeTree(dirname(folder), basename(folder));
  }
}

/** Up to the end, or to the signal. */
async function* scenes(stage: Stage): AsyncGenerator<string> {
  try {
    yield* allScenes(stage);
  } catch (error) {
    if (!stage.signal.aborted) throw error;
  } finally {
    stage.progress("");
    await stage.server?.kill();
    stage.server = undefined;
  }
}

async function* allScenes(stage: Stage): AsyncGenerator<string> {
  stage.server = await startServer(stage.workspace.root, stage.env, 0, stage.signal);
  if (stage.server === undefined) yield "The dashboard could not be started here; this text tells everything.";
  else {
    yield `Dashboard: ${stage.server.link}`;
    if (!stage.once && (await openBrowser(() => stage.workspace.http.link(), stage.env)))
      yield "(opened in your browser)";
  }
  yield* begin(stage);
  yield* verdicts(stage);
  yield* takeOver(stage);
  if (stage.once) return;
  yield `\nThe agents go on, and the page is yours. From another terminal: midwatch --workspace ${stage.workspace.root}\nCtrl-C stops everything and removes it.`;
  await sleep(2 ** 31 - 1, undefined, { signal: stage.signal }).catch(() => undefined);
}

async function* begin({ workspace, agents, folder, signal }: Stage): AsyncGenerator<string> {
  yield `\n1. ${PARTS.length} agents start, each under a keeper of its own. They are scripts that speak like Claude Code: no key, no network.`;
  for (const { name, prompt, about } of PARTS) {
    signal.throwIfAborted();
    const { agent } = await workspace.runs.start({ driver: "claude", name, prompt, model: name, cwd: folder });
    agents.set(name, agent);
    yield `   ${agent.padEnd(22)} ${about}`;
  }
}

/** What the watch should find; the others are told as they are. */
const EXPECTED: Readonly<Record<string, (summary: AgentSummary) => boolean>> = {
  fix: ({ final, on_track_status }) => final && on_track_status === "on_track",
  loop: ({ on_track_status }) => on_track_status === "blocked",
  hang: ({ on_track_status }) => on_track_status === "blocked",
  crash: ({ final }) => final,
  ask: ({ final }) => final,
};

async function* verdicts({ workspace, agents, signal, progress }: Stage): AsyncGenerator<string> {
  const { model_silent } = SETTINGS.rules;
  yield `\n2. The watch reads what they print and tells what it makes of it. Thresholds are scaled for scripts that live half a minute: silence\n   counts from ${model_silent.alert} s here, from 180 s with real agents. The rules are the same.`;
  const open = new Set(Object.keys(EXPECTED));
  const deadline = performance.now() + VERDICTS_MS;
  while (open.size > 0 && performance.now() < deadline) {
    await sleep(250, undefined, { signal });
    const known = new Map(workspace.verdicts.positions.summaries().map((one) => [one.instance_id as string, one]));
    for (const name of [...open]) {
      const summary = known.get(agents.get(name) ?? "");
      if (summary === undefined || EXPECTED[name]?.(summary) !== true) continue;
      open.delete(name);
      yield* told(summary);
    }
    progress(`   ${PARTS.length - open.size} of ${PARTS.length} are judged ...`);
  }
  progress("");
  for (const name of open) yield `   ${agents.get(name)}: the watch has not made up its mind`;
}

function* told({ instance_id, on_track_status, current_activity, evidence }: AgentSummary): Generator<string> {
  yield `   ${instance_id.padEnd(22)} ${on_track_status}: ${current_activity}`;
  const [first] = evidence;
  if (first === undefined || first.log === null) return;
  const { line_start: from, line_end: to } = first.log;
  const lines = from === to ? `line ${to}` : `lines ${from} to ${to}`;
  yield `   ${"".padEnd(22)} because ${first.about}: ${first.value} (from ${first.threshold}); see ${lines} of its log`;
}

async function* takeOver(stage: Stage): AsyncGenerator<string> {
  const { workspace, agents, env, signal, server } = stage;
  if (server !== undefined) {
    yield `\n3. The server (pid ${server.pid}) is killed with SIGKILL. Nothing above a keeper holds truth, so nothing stops.`;
    await server.kill();
    stage.server = undefined;
  }
  const steady = agents.get("fork") as AgentId;
  const before = await numbers(workspace, steady);
  await sleep(GOES_ON_MS, undefined, { signal });
  if (server !== undefined) {
    // On the same port: a page that is open goes on by itself.
    stage.server = await startServer(workspace.root, env, server.port, signal);
    if (stage.server !== undefined)
      yield `   Another takes over (pid ${stage.server.pid}). Dashboard: ${stage.server.link}`;
  }
  const after = await numbers(workspace, steady);
  const missing = (after.at(-1) ?? 0) - new Set(after).size;
  yield `   ${steady} printed line ${before.at(-1)} before the kill and line ${after.at(-1)} since; missing: ${missing}.`;
  const checked = await Promise.all([...agents.values()].map((agent) => workspace.logs.verify(agent)));
  const bytes = checked.reduce((sum, one) => sum + one.bytes, 0);
  const wrong = checked.filter(({ index }) => index === "wrong").length;
  const lost = wrong === 0 && missing === 0 ? "0 bytes lost" : `${wrong} logs are NOT as they were written`;
  yield `   verify: ${bytes} bytes in ${checked.length} logs, each against the sums that its keeper kept: ${lost}.`;
  const cut = checked.filter(({ partial }) => partial).length;
  if (cut > 0) yield `   The line in which ${agents.get("crash")} died is kept as far as it came.`;
  const [question, answer] = await conversation(workspace);
  if (question !== undefined && answer !== undefined)
    yield `   The journal has the talk of two agents: "${question}" "${answer}"`;
}

async function* curtain({ workspace, agents, once }: Stage): AsyncGenerator<string> {
  yield `\n${once ? "4. " : ""}All are stopped: every process of every agent, with proof.`;
  const reports = await workspace.runs.stop([...agents.values()], { graceMs: 1000, reason: "end of the demo" });
  yield* reports.filter(({ already_stopped }) => !already_stopped).map(receiptLine);
  const left = reports.reduce((sum, report) => sum + report.left.length, 0);
  const total = reports.reduce((sum, report) => sum + report.processes_total, 0);
  yield `   ${total} processes ended, ${left} left, ${reports.every(({ verified }) => verified) ? "all verified" : "NOT all verified"}.`;
}

function receiptLine(report: Report): string {
  const by = [...new Set(report.processes.map(({ ended_by }) => ended_by))].join(", ");
  return `   ${report.agent.padEnd(22)} ${report.processes_total} ended (${by}), ${report.left.length} left, ${report.took_ms} ms, proof: ${report.guarantee}`;
}

async function numbers(workspace: Workspace, agent: AgentId): Promise<number[]> {
  const found: number[] = [];
  for await (const { data } of workspace.logs.records(agent)) {
    const n = (data as { n?: number } | undefined)?.n;
    if (n !== undefined) found.push(n);
  }
  return found;
}

async function conversation(workspace: Workspace): Promise<string[]> {
  const said: string[] = [];
  for await (const { event } of workspace.journal.events({ interaction: 1 })) said.push(event.content);
  return said;
}

interface Server {
  link: string;
  port: number;
  pid: number;
  kill(): Promise<void>;
}

const START_MS = 30_000;

/** `midwatch up` as a process of its own, which the demo may kill as an accident would. Undefined when it cannot serve: the demo goes on as text. */
async function startServer(
  workspace: string,
  env: NodeJS.ProcessEnv,
  port: number,
  signal: AbortSignal,
): Promise<Server | undefined> {
  const child = startSelf(["up", "--json", "--port", String(port), "--workspace", workspace], env);
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  try {
    const given = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
    const first = await Promise.race([once(lines, "line", { signal: given }), ended]);
    lines.on("line", () => {}); // What it tells later has to go somewhere.
    const { link } = JSON.parse(String(first[0])) as { link: string };
    return { link, port: Number(new URL(link).port), pid: child.pid as number, kill };
  } catch {
    await kill();
    return undefined;
  }
}
