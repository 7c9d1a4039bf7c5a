/** Who needs a person: the same answer at every door, and each command that is advised works. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Attention } from "../../src/core/attention-record.ts";
import type { ListRecord } from "../../src/core/types.ts";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import { httpClient, httpServer } from "../support/mcp/mcp-client.ts";
import { bearer, ask as get } from "../support/net/http.ts";
import { type Lab, until } from "../support/workspace.ts";

const SESSION = "6d6f1f0e-2f6b-4a53-9d7e-1f0f8e8f4b11";
const init = { type: "system", subtype: "init", session_id: SESSION, model: "m", tools: [] };
let ids = 0;

function call(name: string, input: object, result: string | null, ok: boolean): object[] {
  const id = `toolu_${++ids}`;
  const content = [{ type: "tool_use", id, name, input }];
  const answer = { type: "tool_result", tool_use_id: id, content: result, is_error: !ok };
  return [
    { type: "assistant", request_id: `req_${id}`, message: { id: `msg_${id}`, role: "assistant", content } },
    ...(result === null ? [] : [{ type: "user", message: { role: "user", content: [answer] } }]),
  ];
}

function done(result: string, more: object = {}): object {
  return { type: "result", subtype: "success", is_error: false, result, permission_denials: [], ...more };
}

/** A `claude` that prints the stream whose name is its last argument. */
function stage(at: Lab, streams: Record<string, object[]>): NodeJS.ProcessEnv {
  const bin = join(at.folder, "bin");
  mkdirSync(bin);
  for (const [name, lines] of Object.entries(streams))
    writeFileSync(join(bin, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const script = `#!/bin/sh\nfor last; do :; done\ncat >/dev/null\n[ -e "${bin}/$last" ] && exec cat "${bin}/$last"\nexec cat "${bin}/fine"\n`;
  writeFileSync(join(bin, "claude"), script, { mode: 0o755 });
  return { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
}

const write = { file_path: "/repo/a.ts", content: "x" };
const STREAMS = {
  fine: [init, ...call("Bash", { command: "make" }, "ok", true), done("All done.")],
  denied: [
    init,
    ...call("Read", { file_path: "/repo/a.ts" }, "1 x", true),
    ...call("Write", write, "Claude requested permissions to write, but you haven't granted it yet.", false),
    done("I could not write it.", {
      permission_denials: [{ tool_name: "Write", tool_use_id: "t", tool_input: write }],
    }),
  ],
  asks: [
    init,
    ...call("Read", { file_path: "/repo/db.ts" }, "1 x", true),
    done("Which database should I use? Please tell me."),
  ],
  "gave-up": [
    init,
    ...[...Array(25).keys()].flatMap((n) => call("Bash", { command: `make -j${n}` }, `make: error ${n}`, false)),
    done("I give up."),
  ],
};

it("tells every door the same of runs that ended well by their CLI's word and left something to a person", async () => {
  const at = lab();
  const env = stage(at, STREAMS);
  const workspace = at.open({ env });
  const agents: Record<string, string> = {};
  for (const name of Object.keys(STREAMS)) {
    const { agent } = await workspace.runs.start({ driver: "claude", name, prompt: `do ${name}`, args: [name] });
    agents[name] = agent;
  }
  await workspace.runs.wait(Object.values(agents) as never[], { timeoutMs: 30_000 });
  const { stdout } = await midwatch(at.folder, ["ls", "--json"], env);
  const listed = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as ListRecord);
  const of = (name: string): ListRecord => listed.find(({ agent }) => agent === agents[name]) as ListRecord;
  expect(listed.map(({ outcome }) => outcome)).toEqual(Array(4).fill("completed"));
  expect(of("fine").attention).toBeNull();
  expect(of("denied").attention).toMatchObject({ kind: "denied", why: "Not permitted: Write (/repo/a.ts)." });
  expect(of("asks").attention).toMatchObject({
    kind: "asks",
    why: "It asks: Which database should I use? Please tell me.",
  });
  expect(of("gave-up").attention).toMatchObject({ kind: "gave_up", why: expect.stringContaining("25 tool calls") });

  const { url, token } = await httpServer(at);
  const door = await get(url.replace("/mcp", ""), "/api/ls", { headers: bearer(token) });
  const { call: tool } = await httpClient({ url, token }, "modern");
  const mcp = (await tool("list_agents")).data["agents"] as { agent_id: string; attention: Attention | null }[];
  for (const name of Object.keys(STREAMS)) {
    const agent = agents[name] as string;
    const { attention } = of(name);
    expect(JSON.parse((await midwatch(at.folder, ["show", agent, "--json"], env)).stdout).attention).toEqual(attention);
    expect(door.json.items.find((one: ListRecord) => one.agent === agent).attention).toEqual(attention);
    expect(mcp.find((one) => one.agent_id === agent)?.attention).toEqual(attention);
    expect((await tool("get_agent_summary", { agent_id: agent })).data["attention"]).toEqual(attention);
  }
  const said = JSON.parse((await midwatch(at.folder, ["--json"], env)).stdout);
  expect(said.needs.map(({ agent, need }: Record<string, string>) => [agent, need])).toEqual([
    [agents["asks"], "asks"],
    [agents["denied"], "denied"],
    [agents["gave-up"], "gave_up"],
  ]);
  expect((await midwatch(at.folder, ["show", agents["asks"] as string], env)).stdout).toContain("asks you: It asks:");
  for (const { next } of said.needs) expect(await follow(at, next, env)).toBe(0);
});

/** Types what was advised, as a person would. */
async function follow(at: Lab, command: string, env: NodeJS.ProcessEnv): Promise<number> {
  const [program, ...argv] = (command.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
  expect(program).toBe("midwatch");
  const { code, stderr } = await midwatch(at.folder, argv, env);
  if (code !== 0) throw new Error(`${command}: ${stderr}`);
  return code;
}

it("shows no secret of the run in the question that it asks", async () => {
  const secret = "velvet-anchor-55021";
  const at = lab();
  const env = stage(at, { fine: [init, done(`Should I use the token ${secret}? Please tell me.`)] });
  const { agent } = await at
    .open({ env: { ...env, TEST_TOKEN: secret } })
    .runs.start({ driver: "claude", prompt: "go" });
  await at.workspace.runs.wait([agent], { timeoutMs: 30_000 });
  for (const argv of [["ls", "--json"], ["show", agent, "--json"], ["--json"], ["show", agent], []]) {
    const { stdout } = await midwatch(at.folder, argv);
    expect(stdout).toMatch(/Should I use the token/);
    expect(stdout).not.toContain(secret);
  }
});

it("an agent that takes messages and finished its turn with a question asks while it lives", async () => {
  const at = lab();
  const env = stage(at, { fine: [] });
  const lines = [init, done("Which database should I use?")].map((line) => JSON.stringify(line)).join("\n");
  writeFileSync(
    join(at.folder, "bin", "claude"),
    `#!/bin/sh\nread -r first\ncat <<'END'\n${lines}\nEND\nexec cat >/dev/null\n`,
  );
  const { agent } = await at.open({ env }).runs.start({ driver: "claude", prompt: "go", interactive: true });
  await until(async () => {
    await at.workspace.verdicts.of(agent);
    return (await at.workspace.runs.show(agent)).attention !== null;
  });
  const { phase, attention } = await at.workspace.runs.show(agent);
  expect({ phase, attention }).toEqual({
    phase: "running",
    attention: {
      kind: "asks",
      why: "It asks: Which database should I use?",
      next: `midwatch send ${agent} "your answer"`,
    },
  });
  expect(await follow(at, attention?.next ?? "", env)).toBe(0);
});

it("says what a lost run that prints on, a queued one and a passed limit are", async () => {
  const at = lab({ tier: "subreaper", max_running: 2 });
  const lost = await at.sh("while :; do echo on; sleep 0.1; done");
  const limited = lab({ wall_limit: "300ms" });
  const slow = await limited.run("sleep", "60");
  await limited.workspace.runs.wait([slow.agent]);
  const [over] = await limited.workspace.runs.list();
  expect(over).toMatchObject({ attention: { kind: "limit", why: "Stopped: 300 ms time limit reached." } });
  const text = await midwatch(limited.folder, ["ls"]);
  expect(text.stdout).toContain("limit reached");
  expect(text.stdout).not.toMatch(/SIG(?:INT|TERM|KILL)/);

  await at.run("sleep", "60");
  const queued = await at.workspace.runs.start({ argv: ["true"], queue: true });
  process.kill(lost.keeper_pid as number, "SIGKILL");
  await until(async () => (await at.workspace.runs.show(lost.agent)).phase === "lost");
  const summaries = await at.workspace.verdicts.all();
  const does = (agent: string) => summaries.find(({ instance_id }) => instance_id === agent)?.current_activity;
  expect(does(lost.agent)).not.toMatch(/ended|lost/i);
  expect(does(queued.agent)).toBe("Queued: starts when there is room");
  const said = await midwatch(at.folder, []);
  expect(said.stdout).toMatch(/lost +\S+ +- +Its keeper is gone; \d+ of its processes work/);
});
