import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { lab } from "../support/lab.ts";
import { httpClient, httpServer, stdioClient } from "../support/mcp/mcp-client.ts";
import { ask, bearer } from "../support/net/http.ts";
import { type Puppet, Puppets } from "../support/puppet.ts";
import type { Lab } from "../support/workspace.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

type Args = Record<string, unknown>;
const OK = "ok";
const NO = "REFUSED_RIGHT";

/** What a person, an agent and its child are told. OTHER works on another task, LEAD is the agent, VICTIM is another's and new for each call. */
const TABLE: readonly [tool: string, args: Args, person: string, agent: string, child: string][] = [
  ["create_real_task", { description: "x" }, OK, NO, NO],
  ["deploy_headless_agent", { driver: "claude", prompt: "x" }, OK, OK, OK],
  ["deploy_headless_agent", { driver: "command", command: ["true"] }, OK, NO, NO],
  ["deploy_headless_agent", { driver: "claude", prompt: "x", permission: "all" }, OK, NO, NO],
  ["deploy_headless_agent", { driver: "claude", prompt: "x", parent: "OTHER" }, OK, NO, NO],
  ["deploy_headless_agent", { driver: "claude", prompt: "x", cwd: "/" }, OK, NO, NO],
  ["spawn_child_agent", { driver: "claude", prompt: "x", parent_agent_id: "OTHER" }, OK, NO, NO],
  ["spawn_child_agent", { driver: "claude", prompt: "x" }, "USAGE", OK, OK],
  ["get_real_task_status", { task_id: "TASK" }, OK, OK, OK],
  ["list_agents", {}, OK, OK, OK],
  ["get_agent_output", { agent_id: "OTHER" }, OK, OK, OK],
  ["kill_real_agent", { agent_id: "VICTIM", grace_seconds: 0 }, OK, NO, NO],
  ["kill_real_agent", { agent_id: "LEAD", grace_seconds: 0, dry: 1 }, "USAGE", "USAGE", "USAGE"],
  ["update_agent_progress", { agent_id: "OTHER", status: "working", message: "x" }, OK, NO, NO],
  ["update_agent_progress", { status: "working", message: "x" }, "USAGE", OK, OK],
  ["report_agent_finding", { agent_id: "OTHER", finding_type: "bug", severity: "low", message: "x" }, OK, NO, NO],
  ["report_agent_finding", { finding_type: "bug", severity: "low", message: "x" }, "USAGE", OK, OK],
  ["get_agent_summary", { agent_id: "OTHER" }, OK, OK, OK],
  ["wait_for_agents", { agent_ids: ["OTHER"], timeout_seconds: 0 }, OK, OK, OK],
  ["send_message", { agent_id: "OTHER", message: "x" }, "REFUSED_INPUT", NO, NO],
  ["send_message", { agent_id: "LEAD", message: "x" }, OK, OK, OK],
  ["log_event", { interaction: 1, actor: "a", type: "note", content: "x" }, OK, OK, OK],
  [
    "log_event",
    { interaction: 1, actor: "a", type: "stop.failed", content: "x" },
    "REFUSED_TYPE",
    "REFUSED_TYPE",
    "REFUSED_TYPE",
  ],
  ["get_communication", {}, OK, OK, OK],
  ["search_logs", { text: "x" }, OK, OK, OK],
];

async function stage(at: Lab) {
  const puppets = new Puppets(at);
  const lead = await puppets.start({ permission: "edit" });
  const child = await puppets.start({ permission: "edit", parent: lead.record.agent });
  const other = await at.run("sleep", "600");
  /** The rows for one time through the table. */
  const calls = async (): Promise<[string, Args][]> => {
    const rows: [string, Args][] = [];
    for (const [tool, args] of TABLE) {
      const text = JSON.stringify(args);
      const victim = text.includes("VICTIM") ? (await at.run("sleep", "600")).agent : "";
      const names = { OTHER: other.agent, LEAD: lead.agent, VICTIM: victim, TASK: other.task };
      rows.push([tool, JSON.parse(text.replace(/\b(OTHER|LEAD|VICTIM|TASK)\b/g, (word) => names[word as "LEAD"]))]);
    }
    return rows;
  };
  const url = await httpServer({ workspace: puppets.workspace });
  return { lead, child, calls, ...url };
}

const told = ({ isError, data }: { isError: boolean; data: Args }): string => (isError ? String(data["code"]) : OK);
const shown = (answers: readonly string[]): string[] => TABLE.map(([tool], i) => `${i} ${tool}: ${answers[i]}`);

it("every tool, asked by a person, an agent and its child: the same rights over stdio and over HTTP", async () => {
  const at = lab({ max_children: 20, child_rate: 100, max_depth: 5 });
  const { lead, child, calls, url, token } = await stage(at);
  const overHttp = async (bearerOf: string): Promise<string[]> => {
    const { call } = await httpClient({ url, token: bearerOf }, "legacy");
    const answers: string[] = [];
    for (const [tool, args] of await calls()) answers.push(told(await call(tool, args)));
    return answers;
  };
  const overStdio = async (puppet: Puppet): Promise<string[]> => (await puppet.tools(await calls())).map(told);
  const person = await stdioClient(at, "legacy");
  const byPerson: string[] = [];
  for (const [tool, args] of await calls()) byPerson.push(told(await person.call(tool, args)));
  for (const [who, column, stdio, http] of [
    ["a person", 2, byPerson, await overHttp(token)],
    ["an agent", 3, await overStdio(lead), await overHttp(lead.bearer)],
    ["its child", 4, await overStdio(child), await overHttp(child.bearer)],
  ] as const) {
    const expected = shown(TABLE.map((row) => row[column] as string));
    expect([who, "stdio", ...shown(stdio)]).toEqual([who, "stdio", ...expected]);
    expect([who, "http", ...shown(http)]).toEqual([who, "http", ...expected]);
  }
  const { tools } = await person.client.listTools();
  expect(new Set(TABLE.map(([tool]) => tool))).toEqual(new Set(tools.map(({ name }) => name)));
}, 300_000);

it("a stranger gets no tool at all: over HTTP without what shows who it is, on stdio below a keeper that nobody can tell", async () => {
  const at = lab();
  const { lead, calls, url } = await stage(at);
  const rows = await calls();
  for (const headers of [{}, bearer("0".repeat(64)), bearer(`${lead.agent}:${"0".repeat(32)}`)]) {
    for (const [name, args] of rows) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
      const sent = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
      const { status } = await ask(new URL(url).origin, "/mcp", { method: "POST", headers: sent, body });
      expect([name, status]).toEqual([name, 401]);
    }
  }
  const claim = join(at.runDir(lead.record), "claim");
  const before = readFileSync(claim, "utf8");
  // Its keeper would write it again.
  const keeper = at.startFact(lead.record).keeper.pid;
  process.kill(keeper, "SIGSTOP");
  onTestFinished(() => void process.kill(keeper, "SIGCONT"));
  writeFileSync(claim, JSON.stringify({ ...JSON.parse(before), pid: 1 }));
  const answers = (await lead.tools(rows)).map(told);
  writeFileSync(claim, before);
  // What is wrong with the arguments is said to anybody.
  const bad = rows.findIndex(([, args]) => "dry" in args);
  expect(shown(answers)).toEqual(shown(rows.map((_, i) => (i === bad ? "USAGE" : NO))));
});
