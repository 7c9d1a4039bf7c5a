/**
 * The list of 1,000 agents over HTTP, beside a bare handler that answers with the same bytes: both in this process, asked in turns
 * over the same number of connections. 20 of the agents run and print, so the list is old every second.
 */
import { Agent, createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { serve } from "../src/doors/http/serve.ts";
import { openWorkspace, type Workspace } from "../src/fleet/workspace.ts";
import { Registry } from "../src/registry/registry.ts";
import { digits, interleave, quantile, times } from "./support/figures.ts";
import { type Options, type Row, row } from "./support/row.ts";
import { agentRow, runRow } from "./support/rows.ts";

const AGENTS = 1000;
const LIVE = 20;
const CONNECTIONS = 8;
const ROUNDS = 5;
const BAR = 3;

export async function bench({ dir, quick, say }: Options): Promise<Row[]> {
  const workspace = openWorkspace({
    workspace: join(dir, ".agent-workspace"),
    cwd: dir,
    make: true,
    config: { grace: "0" },
  });
  const live: string[] = [];
  const servers: { close(): unknown }[] = [];
  try {
    for (let i = 0; i < (quick ? 3 : LIVE); i++)
      live.push((await workspace.runs.start({ argv: ["sh", "-c", PRINT] })).agent);
    fill(workspace, AGENTS - live.length);
    const ours = await serve(workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: say });
    servers.push(ours);
    const token = `Bearer ${workspace.http.token()}`;
    const { bytes } = await once(`${ours.url}/api/ls`, token);
    const bare = await bareServer(bytes);
    servers.push(bare);
    const took: Record<"ours" | "bare", number[]> = { ours: [], bare: [] };
    const round = (which: "ours" | "bare", url: string) => async (): Promise<void> => {
      took[which].push(...(await load(url, token, quick ? 200 : 1000)));
    };
    await round("ours", `${ours.url}/api/ls`)();
    await round("bare", bareUrl(bare))();
    took.ours.length = 0;
    took.bare.length = 0;
    say(`${ROUNDS} rounds of ${CONNECTIONS} connections, ${digits(bytes.length / 1024)} KiB an answer`);
    await interleave({ ours: round("ours", `${ours.url}/api/ls`), bare: round("bare", bareUrl(bare)) }, ROUNDS);
    const [mine, theirs] = [quantile(took.ours, 0.99), quantile(took.bare, 0.99)];
    return [
      row({
        promise: `list of ${AGENTS} agents over HTTP`,
        figure: "p99 of GET /api/ls",
        measured: `${digits(mine)} ms (median ${digits(quantile(took.ours, 0.5))})`,
        peer: `bare handler with the same ${digits(bytes.length / 1024)} KiB: ${digits(theirs)} ms (median ${digits(quantile(took.bare, 0.5))})`,
        ratio: times(mine / theirs),
        bar: `≤ ${BAR} x`,
        holds: mine <= BAR * theirs,
        note: `${live.length} of them run and print; ${CONNECTIONS} connections, client in the same process`,
      }),
    ];
  } finally {
    for (const server of servers) await server.close();
    await workspace.runs.stop(live, { graceMs: 0 });
    workspace.close();
  }
}

const PRINT = "while :; do echo something; sleep 0.2; done";

/** Rows of agents that ended lately: what `ls` shows without a process or a folder for each. */
function fill(workspace: Workspace, count: number): void {
  const registry = Registry.open(join(workspace.root, "midwatch.db"));
  const ended_at = new Date().toISOString();
  const ids = Array.from({ length: count }, (_, i) => `agent-${String(i).padStart(4, "0")}`);
  const rows = ids.map((id) => ({ ...runRow(id), phase: "drained" as const, outcome: "completed" as const, ended_at }));
  registry.putRuns(
    rows,
    ids.map((id) => agentRow(id)),
  );
  registry.close();
}

async function bareServer(bytes: Uint8Array<ArrayBuffer>): Promise<Server> {
  const app = new Hono();
  app.get("/", (c) => c.body(bytes, 200, { "Content-Type": "application/json" }));
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function bareUrl(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function load(url: string, token: string, requests: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const took: number[] = [];
  let left = requests;
  const one = async (): Promise<void> => {
    while (left-- > 0) took.push((await once(url, token, agent)).took);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  agent.destroy();
  return took;
}

function once(url: string, token: string, agent?: Agent): Promise<{ took: number; bytes: Uint8Array<ArrayBuffer> }> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const sent = get(url, { headers: { authorization: token }, ...(agent ? { agent } : {}) }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ took: performance.now() - begun, bytes: new Uint8Array(Buffer.concat(parts)) }));
    });
    sent.on("error", reject);
  });
}
