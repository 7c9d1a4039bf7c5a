/**
 * Limits of tokens and money: how soon a stop is asked for after the line that passes the limit, with `midwatch up` beside agents that print
 * it at times of their own; and what `up` takes when 100 agents with a limit print nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace, type RunRecord, type ShowRecord, type Workspace } from "../src/index.ts";
import { digits } from "./support/figures.ts";
import { cpuNs, ended, kill } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
const PROMISED_MS = 500;
const AT_ONCE = 10;
const SETTLE_MS = 35_000;

export async function bench(options: Options): Promise<Row[]> {
  const bin = join(options.dir, "bin");
  mkdirSync(bin);
  const line = JSON.stringify({
    type: "assistant",
    message: { id: "m", model: "claude-opus-4-5", content: [], usage: { input_tokens: 1000, output_tokens: 1 } },
  });
  // The time first: what the shell takes to print it is ours too.
  writeFileSync(
    join(bin, "claude"),
    `#!/bin/sh\nsleep "$(grep -o "wait=[0-9.]*" | head -n 1 | cut -d= -f2)"\ndate +%s%3N >&2\necho '${line}'\nexec sleep 600\n`,
  );
  chmodSync(join(bin, "claude"), 0o755);
  const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  const root = join(options.dir, "workspace");
  using workspace = openWorkspace({ workspace: root, make: true, env, config: { token_limit: 500 } });
  const up = spawn(process.execPath, [BUNDLE, "up", "--no-http", "--workspace", root], { stdio: "ignore" });
  try {
    return [await soon(workspace, options), await silent(workspace, up, options)];
  } finally {
    const over = ended(up);
    kill(up.pid as number, "SIGKILL");
    await over;
    const left = (await workspace.runs.list()).map(({ agent }) => agent);
    await workspace.runs.stop(left, { graceMs: 0 });
  }
}

async function soon(workspace: Workspace, { quick, say }: Options): Promise<Row> {
  const count = quick ? 10 : 100;
  say(`${count} agents that pass their limit, ${AT_ONCE} at once`);
  const tookMs: number[] = [];
  for (let round = 0; round < count / AT_ONCE; round++) {
    const runs: RunRecord[] = [];
    for (let i = 0; i < AT_ONCE; i++) {
      const prompt = `wait=${(1 + ((7 * i + 3 * round) % 20) / 10).toFixed(2)}`;
      runs.push(await workspace.runs.start({ driver: "claude", prompt, mcp: false }));
    }
    const agents = runs.map(({ agent }) => agent);
    for (const shown of await workspace.runs.wait(agents, { timeoutMs: 60_000 })) {
      const printed = Number(readFileSync(shown.log.replace("_stream.jsonl", "_stderr.log"), "utf8").trim());
      if (shown.outcome !== "limit") throw new Error(`${shown.agent} ended otherwise: ${shown.outcome}`);
      tookMs.push(askedMs(workspace, shown) - printed);
    }
  }
  const sorted = tookMs.sort((a, b) => a - b);
  const at = (p: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;
  return row({
    promise: "money",
    figure: "from the line that passes a limit to the stop (p95)",
    measured: `${at(0.95)} ms`,
    ...atMost(at(0.95), PROMISED_MS, " ms"),
    note: `${count} agents, ${AT_ONCE} at once; median ${at(0.5)} ms, at most ${at(1)} ms`,
  });
}

/** When the stop was asked for. */
function askedMs({ root }: Workspace, { task, agent, run }: ShowRecord): number {
  const sealed = JSON.parse(readFileSync(join(root, task, "runs", agent, `${run}.json`), "utf8"));
  return Date.parse(sealed.facts["stop.json"].requested_at);
}

async function silent(workspace: Workspace, up: ChildProcess, { quick, say }: Options): Promise<Row> {
  const count = quick ? 20 : 100;
  const seconds = quick ? 10 : 30;
  say(`${count} agents with a limit that print nothing, ${SETTLE_MS / 1000} s to settle`);
  for (let i = 0; i < count; i++) await workspace.runs.start({ driver: "claude", prompt: "wait=600", mcp: false });
  await sleep(SETTLE_MS);
  const before = cpuNs([up.pid as number]);
  await sleep(seconds * 1000);
  const share = ((cpuNs([up.pid as number]) - before) / 1e9 / seconds / count) * 100 * 100; // % of a core for 100
  return row({
    promise: "idle",
    figure: "`midwatch up` beside 100 silent agents with a limit of tokens",
    measured: `${digits(share)} % of a core`,
    ...atMost(share, 2, " %"),
    note: `${count} of them for ${seconds} s, all threads; each log is looked at five times a second`,
  });
}
