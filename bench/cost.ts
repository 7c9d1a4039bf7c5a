/**
 * What was spent, before anybody can have read a log: 1,000 ended agents and a few that live, with logs of 10 GB together (sparse), and a ledger
 * that knows a hundred times as many points of another project. In process, by the command line, over HTTP as the page asks, and in the page itself.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "../src/doors/http/serve.ts";
import { openWorkspace, type Workspace } from "../src/fleet/workspace.ts";
import { Ledger } from "../src/spend/ledger.ts";
import { unseen } from "../test/support/data/unseen.ts";
import { CHROMIUM, openBrowser } from "../test/support/net/browser.ts";
import { digits, median } from "./support/figures.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
const BAR_MS = 300;
const LIVE = 3;
/** A living agent's log that once made the page wait. */
const LIVE_BYTES = 400e6;
const USD = 0.25;
const SAYS = [
  {
    type: "assistant",
    message: { id: "a", model: "claude-opus-4-5", content: [], usage: { input_tokens: 40_000, output_tokens: 100 } },
  },
];
const ENDS = {
  type: "result",
  subtype: "success",
  result: "Done.",
  total_cost_usd: USD,
  modelUsage: { "claude-opus-4-5": { inputTokens: 40_000, outputTokens: 2000, costUSD: USD } },
};

export async function bench({ dir, quick, say }: Options): Promise<Row[]> {
  const agents = quick ? 50 : 1000;
  const bytes = quick ? 0.5e9 : 10e9;
  const rounds = quick ? 3 : 15;
  const env = { ...process.env, PATH: `${fakeClaude(dir)}:${process.env["PATH"]}` };
  const options = { workspace: join(dir, ".agent-workspace"), cwd: dir, env, config: { grace: "0" } };
  const workspace = openWorkspace({ ...options, make: true });
  const live: string[] = [];
  try {
    say(`${agents} agents with ${digits(bytes / 1e9)} GB of logs`);
    await endedAgents(workspace, agents, bytes / agents);
    otherProject(quick ? 10_000 : 100_000);
    for (let i = 0; i < LIVE; i++) {
      const { agent, log } = await workspace.runs.start({ driver: "claude", prompt: "LIVE" });
      live.push(agent);
      truncateSync(log, LIVE_BYTES);
    }
    const [mine] = workspace.verdicts.cost({ by: "model" });
    const sum = mine?.cost_usd ?? 0;
    const figure = `${agents} runs, ${digits((bytes + LIVE * LIVE_BYTES) / 1e9)} GB of logs`;
    return [
      row({
        promise: "cost: the sum",
        figure,
        measured: `${sum} USD`,
        peer: `the CLI's own figures: ${agents * USD} USD`,
        bar: "within 1 %",
        holds: Math.abs(sum / (agents * USD) - 1) <= 0.01,
      }),
      first(figure, "in process: sums and chart", await timed(rounds, () => inProcess(options))),
      first(figure, "`midwatch cost`, with the start of Node", await timed(rounds, () => commandLine(dir, env))),
      ...(await overHttp(workspace, figure, rounds, say)),
    ];
  } finally {
    await workspace.runs.stop(live, { graceMs: 0 });
    workspace.close();
  }
}

function first(figure: string, how: string, took: readonly number[]): Row {
  const ms = median(took);
  const measured = `${digits(ms)} ms (${digits(Math.max(...took))} at the most)`;
  return row({ promise: "cost: first figures", figure: `${how}; ${figure}`, measured, ...atMost(ms, BAR_MS, " ms") });
}

/** The first round fills caches, as for everybody who looks twice. */
async function timed(rounds: number, act: () => unknown): Promise<number[]> {
  const took: number[] = [];
  for (let i = 0; i <= rounds; i++) {
    const begun = performance.now();
    await act();
    if (i > 0) took.push(performance.now() - begun);
  }
  return took;
}

function inProcess(options: Parameters<typeof openWorkspace>[0]): void {
  using opened = openWorkspace(options);
  opened.verdicts.cost({ by: "task" });
  opened.verdicts.costSeries({ by: "task" });
}

function commandLine(dir: string, env: NodeJS.ProcessEnv): void {
  execFileSync(process.execPath, [BUNDLE, "cost", "--by", "model", "--workspace", join(dir, ".agent-workspace")], {
    env,
  });
}

async function overHttp(workspace: Workspace, figure: string, rounds: number, say: Options["say"]): Promise<Row[]> {
  const served = await serve(workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: say });
  try {
    const headers = { authorization: `Bearer ${workspace.http.token()}`, "content-type": "application/json" };
    const ask = async (body: object): Promise<void> => {
      const answer = await fetch(`${served.url}/api/cost`, { method: "POST", headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(await answer.text());
      await answer.text();
    };
    const asPage = () => Promise.all([ask({ chart: true, since: "24h" }), ask({ since: "24h" }), ask({ since: "1h" })]);
    const rows = [first(figure, "HTTP, the three questions of the page", await timed(rounds, asPage))];
    if (CHROMIUM === "") return rows;
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(served.link);
      await page.locator(".row, .need").first().waitFor();
      const took: number[] = [];
      for (let i = 0; i <= rounds; i++) {
        const ms = await page.evaluate<number>(`new Promise((resolve) => {
          const begun = performance.now();
          location.hash = "#/cost";
          const look = () => (document.querySelector(".spend rect.serie") ? resolve(performance.now() - begun) : requestAnimationFrame(look));
          look();
        })`);
        if (i > 0) took.push(ms);
        await page.evaluate("location.hash = '#/health'");
        await page.getByRole("heading", { name: "Heartbeats" }).waitFor();
      }
      rows.push(first(figure, "the page, to its bars and sums", took));
      return rows;
    } finally {
      await browser.close();
    }
  } finally {
    await served.close();
  }
}

/** Tells of one request; with LIVE in its prompt it stays, else it ends with what it cost. */
function fakeClaude(dir: string): string {
  const bin = join(dir, "bin");
  mkdirSync(bin, { recursive: true });
  const lines = SAYS.map((line) => JSON.stringify(line)).join("\n");
  const script = `#!/bin/sh\nprompt=$(cat)\necho '${lines}'\ncase "$prompt" in *LIVE*) exec sleep 1000;; esac\necho '${JSON.stringify(ENDS)}'\n`;
  writeFileSync(join(bin, "claude"), script, { mode: 0o755 });
  return bin;
}

async function endedAgents(workspace: Workspace, count: number, bytes: number): Promise<void> {
  const record = await workspace.runs.start({ driver: "claude", prompt: "Mend the parser" });
  await workspace.runs.wait([record.agent]);
  unseen(workspace.root, record, count - 1);
  await workspace.runs.reap();
  const listed = await workspace.runs.list({ all: true });
  if (listed.length !== count) throw new Error(`the workspace has ${listed.length} agents, not ${count}`);
  for (const { log } of listed) truncateSync(log, bytes);
}

/** In the same ledger. */
function otherProject(points: number): void {
  const ledger = new Ledger(() => join(process.env["XDG_STATE_HOME"] as string, "midwatch", "spend.db"));
  const workspace = { id: "other", project: "/somewhere/else" };
  const runs = 100;
  const now = Date.now();
  for (let n = 1; n <= points / runs; n++) {
    const words = Array.from({ length: runs }, (_, run) => {
      const tokens = { input: n * 1000, output: n, cache_read: 0, cache_write: 0 };
      const parts = [{ model: `model-${run % 5}`, tokens, usd: n / 100, estimated: true }];
      const totals = {
        workspace,
        task: "T",
        agent: `agent-${run}`,
        run: 1,
        labels: [],
        parts,
        told_usd: null,
        final: false,
      };
      return { totals, atMs: now - (points / runs - n) * 60_000 };
    });
    ledger.recordAll(words);
  }
  ledger.close();
}
