import { existsSync, globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { told } from "../support/data/events.ts";
import { lab } from "../support/lab.ts";
import { type Era, httpClient, httpServer, stdioClient, type TestClient } from "../support/mcp/mcp-client.ts";
import { type Lab, until } from "../support/workspace.ts";

const TOOLS = [
  "create_real_task",
  "deploy_headless_agent",
  "spawn_child_agent",
  "get_real_task_status",
  "list_agents",
  "get_agent_output",
  "kill_real_agent",
  "update_agent_progress",
  "report_agent_finding",
  "get_agent_summary",
  "wait_for_agents",
  "send_message",
  "log_event",
  "get_communication",
  "search_logs",
];

const sh = (script: string) => ({ driver: "command", command: ["sh", "-c", script] });

type Way = "stdio" | "http";

async function connect(at: Lab, way: Way, era: Era, versions?: string[]): Promise<TestClient> {
  return way === "stdio" ? await stdioClient(at, era, versions) : await httpClient(await httpServer(at), era, versions);
}

describe.each([
  ["stdio", "legacy"],
  ["stdio", "modern"],
  ["http", "legacy"],
  ["http", "modern"],
] as [Way, Era][])("MCP over %s, %s", (way, era) => {
  it("R-000.42, R-002.4: an agent is deployed, read and killed, with the fields that callers know", async () => {
    const at = lab();
    const { client, call } = await connect(at, way, era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(TOOLS);
    const { data: task } = await call("create_real_task", { description: "Say hello" });
    const { data: made } = await call("deploy_headless_agent", {
      task_id: task["task_id"],
      agent_type: "greeter",
      ...sh("echo hello; exec sleep 60"),
    });
    expect(made).toMatchObject({ success: true, task_id: task["task_id"], type: "greeter", status: "deployed" });
    const agent_id = made["agent_id"] as string;
    expect(existsSync(made["log_file"] as string)).toBe(true);
    await until(() => readFileSync(made["log_file"] as string, "utf8") === "hello\n");

    const { data: read } = await call("get_agent_output", { agent_id, task_id: task["task_id"] });
    expect(read).toMatchObject({ success: true, agent_id, session_status: "running", source: "jsonl_log", note: null });
    expect(read["output"]).toMatchObject([{ seq: 1, offset: 0, type: "stdout", text: "hello" }]);
    const { data: again } = await call("get_agent_output", { agent_id, cursor: read["cursor"] });
    expect(again).toMatchObject({ output: [], note: "Nothing new", cursor: read["cursor"] });

    const { data: killed, isError } = await call("kill_real_agent", { agent_id, reason: "enough", purge: true });
    expect(isError).toBe(false);
    expect(killed).toMatchObject({
      success: true,
      agent_id,
      tmux_session: null,
      session_killed: true,
      reason: "enough",
      status: "terminated",
      left: [],
    });
    expect(killed["cleanup"]).toMatchObject({ success: true, files_failed: [], verified_no_zombies: true });
    expect((killed["cleanup"] as { files_deleted: string[] }).files_deleted).toContain(made["log_file"]);
    expect(at.survivors()).toEqual([]);

    // Over HTTP the journal tells who changed what; on stdio it is whoever started us.
    expect(told(at, "http.change").map(({ data }) => data?.["operation"])).toEqual(
      way === "http" ? ["task", "run", "stop"] : [],
    );
  });

  it("subscribers of a task hear of changes, and read what it is then", async () => {
    const at = lab();
    const { agent, task } = await at.sh("exec sleep 60");
    const { client } = await connect(at, way, era);
    const heard = new Set<string>();
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.add(params.uri));
    const uri = `task://${task}/status`;
    if (era === "legacy") await client.subscribeResource({ uri });
    else await client.listen({ resourceSubscriptions: [uri] });
    // What changed before the first look is no change: said again until it is heard.
    const isHeard = async (): Promise<boolean> => {
      at.workspace.mail.progress(agent, "working", "one step more");
      await sleep(500);
      return heard.has(uri);
    };
    await until(isHeard, 30_000, "a change is heard");
    const { contents } = await client.readResource({ uri });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({
      task_id: task,
      agents: [{ agent_id: agent, phase: "running" }],
      progress: expect.arrayContaining([expect.objectContaining({ status: "working" })]),
    });
  });
});

it("all tools are annotated, and tell what goes in and comes out", async () => {
  const { client } = await connect(lab(), "http", "modern");
  const { tools } = await client.listTools();
  for (const { name, title, annotations, description, outputSchema } of tools) {
    expect({ name, about: (description ?? "").length > 40, out: outputSchema !== undefined }).toMatchObject({
      about: true,
      out: true,
    });
    expect(annotations).toEqual({
      title,
      readOnlyHint: expect.any(Boolean),
      destructiveHint: name === "kill_real_agent",
      idempotentHint: expect.any(Boolean),
      openWorldHint: false,
    });
  }
});

it.each(["2025-11-25", "2025-06-18"])("an older client gets the version it asks for: %s", async (version) => {
  const { client } = await connect(lab(), "http", "legacy", [version]);
  expect(client.getNegotiatedProtocolVersion()).toBe(version);
});

it("R-000.42: read tools leave every file as it is", async () => {
  const at = lab();
  const { agent, task } = await at.sh("echo 'key sk-ant-0123456789abcdef0123456789'");
  await at.workspace.runs.wait([agent]);
  await at.workspace.runs.list();
  const { client, call } = await connect(at, "http", "modern");
  const before = files(at);
  const { tools } = await client.listTools();
  const args: Record<string, Record<string, unknown>> = {
    get_real_task_status: { task_id: task },
    list_agents: {},
    get_agent_output: { agent_id: agent },
    wait_for_agents: { agent_ids: [agent] },
    get_communication: {},
    search_logs: { text: "key" },
  };
  const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
  expect(reading.sort()).toEqual(Object.keys(args).sort());
  for (const name of reading) {
    const { data, text } = await call(name, args[name]);
    expect({ name, success: data.success }).toEqual({ name, success: true });
    expect(text).not.toContain("sk-ant-0123456789abcdef0123456789");
  }
  for (const uri of ["tasks://list", `task://${task}/status`, `agent://${agent}/log`]) {
    const { contents } = await client.readResource({ uri });
    expect((contents[0] as { text: string }).text).toContain(uri.startsWith("agent") ? "seq" : task);
  }
  expect(files(at)).toEqual(before);
});

/** Every file of the workspace with its time and size; the database's own bookkeeping is not ours. */
function files(at: Lab): string[] {
  return globSync("**", { cwd: at.root })
    .filter((path) => !path.includes("midwatch.db"))
    .map((path) => ({ path, stat: statSync(join(at.root, path)) }))
    .filter(({ stat }) => stat.isFile())
    .map(({ path, stat }) => `${path} ${stat.size} ${stat.mtimeMs}`)
    .sort();
}

it("answers are bounded, and a cursor leads through all of it without a gap", async () => {
  const at = lab();
  const { agent } = await at.sh(
    `i=0; while [ $i -lt 250 ]; do echo "line $i"; i=$((i+1)); done; head -c 300000 /dev/zero | tr '\\0' x; echo`,
  );
  await at.workspace.runs.wait([agent]);
  const { call } = await connect(at, "http", "modern");
  const seen: number[] = [];
  let cursor = "1:0";
  for (let more = true; more; ) {
    const { data, text } = await call("get_agent_output", { agent_id: agent, cursor });
    expect(Buffer.byteLength(text)).toBeLessThan(128 << 10);
    seen.push(...(data["output"] as { seq: number }[]).map(({ seq }) => seq));
    cursor = data["cursor"] as string;
    more = data["truncated"] as boolean;
  }
  expect(seen).toEqual(Array.from({ length: 251 }, (_, i) => i + 1));
  const { data } = await call("get_agent_output", { agent_id: agent, tail: 2 });
  expect(data["output"]).toMatchObject([
    { seq: 250, text: "line 249" },
    { seq: 251, cut: true },
  ]);
});

it("R-000.17: get_agent_output reads any part by offset and limit, and goes on by its cursor", async () => {
  const at = lab();
  const { agent } = await at.sh("echo a; echo; echo b; echo c; echo d");
  await at.workspace.runs.wait([agent]);
  const { call } = await connect(at, "http", "modern");
  const read = async (more: object) => {
    const { data } = await call("get_agent_output", { agent_id: agent, ...more });
    return { texts: (data["output"] as { text: string }[]).map(({ text }) => text), cursor: data["cursor"] };
  };
  const part = await read({ offset: 1, limit: 2 });
  expect(part.texts).toEqual(["b", "c"]);
  expect((await read({ cursor: part.cursor, limit: 5 })).texts).toEqual(["d"]);
  expect([(await read({ limit: 1 })).texts, (await read({ tail: 4 })).texts]).toEqual([["a"], ["a", "b", "c", "d"]]);
  expect(await call("get_agent_output", { agent_id: agent, offset: 1, cursor: part.cursor })).toMatchObject({
    isError: true,
  });
});

it("R-000.31: of an agent that printed nothing get_agent_output gives the end of its stderr", async () => {
  const at = lab();
  const [failed, silent] = [await at.sh("echo why >&2; exit 1"), await at.sh("exit 0")];
  await at.workspace.runs.wait([failed.agent, silent.agent]);
  const { call } = await connect(at, "http", "modern");
  expect((await call("get_agent_output", { agent_id: failed.agent })).data).toMatchObject({
    output: [{ type: "stderr", text: "why" }],
    source: "stderr",
    note: "Agent exited without writing logs; this is the end of its stderr",
  });
  expect((await call("get_agent_output", { agent_id: silent.agent })).data).toMatchObject({
    output: [],
    source: "jsonl_log",
    note: "Agent exited without writing logs",
  });
});

it("whatever is about an agent may be told its task, and a wrong one is refused", async () => {
  const at = lab();
  const { agent, task } = await at.sh("exec sleep 60");
  const { call } = await connect(at, "http", "modern");
  const other = at.workspace.runs.makeTask("another").task;
  const child = { parent_agent_id: agent, command: ["true"] };
  const report = { agent_id: agent, status: "working", message: "m" };
  const finding = { agent_id: agent, finding_type: "bug", severity: "low", message: "m" };
  for (const [name, args] of Object.entries({
    update_agent_progress: report,
    report_agent_finding: finding,
    spawn_child_agent: child,
  })) {
    expect(await call(name, { ...args, task_id: task }), name).toMatchObject({ isError: false });
    expect(await call(name, { ...args, task_id: other }), name).toMatchObject({ isError: true });
  }
});

it("wait_for_agents tells what changed since the cursor and never waits longer than asked", async () => {
  const at = lab();
  const { call } = await connect(at, "http", "legacy");
  const { data: made } = await call("deploy_headless_agent", sh("until [ -e go ]; do sleep 0.05; done; exit 3"));
  const agent_id = made["agent_id"] as string;
  const { data: one } = await call("wait_for_agents", { agent_ids: [agent_id], timeout_seconds: 0 });
  const next = (cursor: unknown) => call("wait_for_agents", { agent_ids: [agent_id], timeout_seconds: 40, cursor });
  const waiting = next(one["cursor"]);
  writeFileSync(join(at.folder, "go"), "");
  let { data: two } = await waiting;
  // Its command has exited and its keeper is not done yet: a change too, and the next call tells of the end.
  if (!two["all_ended"]) ({ data: two } = await next(two["cursor"]));
  expect(two).toMatchObject({ all_ended: true, timed_out: false, changed: [{ agent_id, status: "failed" }] });
  const { data: three } = await call("wait_for_agents", { agent_ids: [agent_id], cursor: two["cursor"] });
  expect(three).toMatchObject({ changed: [], ended: [agent_id] });
});

it("R-000.45: output comes as records, as a record a line, or as what was printed; the filter comes before the tail; a bad one is named", async () => {
  const at = lab();
  const { call } = await connect(at, "http", "modern");
  const script = `for i in $(seq 300); do echo "ERROR $i"; echo "fine $i"; done; echo '{"level":"ERROR"}'`;
  const { data: made } = await call("deploy_headless_agent", sh(script));
  const { agent_id } = made;
  await call("wait_for_agents", { agent_ids: [agent_id], timeout_seconds: 40 });
  const asked = async (more: object): Promise<unknown> =>
    (await call("get_agent_output", { agent_id, filter: "ERROR", tail: 3, ...more })).data["output"];
  const records = (await asked({})) as { seq: number; text?: string; data?: unknown }[];
  expect(records.map(({ seq, text, data }) => [seq, text ?? data])).toEqual([
    [597, "ERROR 299"],
    [599, "ERROR 300"],
    [601, { level: "ERROR" }],
  ]);
  expect(await asked({ format: "parsed" })).toEqual(records);
  expect(await asked({ format: "jsonl" })).toBe(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  expect(await asked({ format: "text" })).toBe('ERROR 299\nERROR 300\n{"level":"ERROR"}\n');
  expect(await call("get_agent_output", { agent_id, filter: "(" })).toMatchObject({
    isError: true,
    data: { success: false, error_type: "BAD_REGEX", suggestion: expect.stringMatching(/\w/) },
  });
});

it("R-000.26: an error tells code and hint, also by the names error_type and suggestion, and a mistake in the arguments what was meant", async () => {
  const at = lab();
  const { call } = await connect(at, "http", "modern");
  const missing = await call("get_agent_output", { agent_id: "nobody-1" });
  expect(missing).toMatchObject({ isError: true, data: { success: false, code: "NOT_FOUND_AGENT", retryable: false } });
  expect(missing.data["hint"]).toBeTruthy();
  expect(missing.data).toMatchObject({ error_type: "NOT_FOUND_AGENT", suggestion: missing.data["hint"] });
  expect(await call("kill_real_agent", { agent: "x" })).toMatchObject({ isError: true, data: { code: "USAGE" } });
  const typo = await call("list_agents", { taskid: "x" });
  expect(typo).toMatchObject({ isError: true, data: { hint: "Did you mean task_id?" } });
});

it("ends with its input, while what it started goes on", async () => {
  const at = lab();
  const { client, call } = await stdioClient(at, "legacy");
  const { data } = await call("deploy_headless_agent", sh("exec sleep 60"));
  const { pid } = client.transport as unknown as { pid: number };
  await client.close();
  await until(() => !existsSync(`/proc/${pid}`), 10_000);
  const shown = await at.workspace.runs.show(data["agent_id"] as string);
  expect(shown.phase).toBe("running");
});

it("without a token, or with a wrong one, nothing is served; an unknown session is served all the same", async () => {
  const { url, token } = await httpServer(lab());
  const ask = (authorization: string, more: Record<string, string> = {}) =>
    fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        Authorization: authorization,
        ...more,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
  expect((await ask("")).status).toBe(401);
  expect((await ask("Bearer 0000")).status).toBe(401);
  expect((await ask("Bearer nobody-1:abcdef")).status).toBe(401);
  const answer = await ask(`Bearer ${token}`, { "Mcp-Session-Id": "of a server that is gone" });
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("deploy_headless_agent");
});

it("an agent with its capability reports for itself, starts and stops children, and nothing else", async () => {
  const at = lab({ max_depth: 1 });
  const other = await at.sh("exec sleep 60");
  const { agent } = await at.sh('echo "$MIDWATCH_CAPABILITY" >capability; exec sleep 60');
  const file = join(at.folder, "capability");
  await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
  const { url } = await httpServer(at);
  const { call } = await httpClient({ url, token: `${agent}:${readFileSync(file, "utf8").trim()}` }, "modern");
  const { data: told } = await call("update_agent_progress", { status: "working", message: "half way", progress: 50 });
  expect(told).toMatchObject({ agent_id: agent, own_update: { status: "working", progress: 50 } });
  expect(await call("report_agent_finding", { finding_type: "bug", severity: "high", message: "x" })).toMatchObject({
    data: { success: true, agent_id: agent },
  });
  const refused = { isError: true, data: { code: "REFUSED_RIGHT" } };
  expect(await call("kill_real_agent", { agent_id: other.agent })).toMatchObject(refused);
  expect(await call("update_agent_progress", { agent_id: other.agent, status: "a", message: "b" })).toMatchObject(
    refused,
  );
  expect(await call("create_real_task", { description: "mine" })).toMatchObject(refused);
  const { data: child } = await call("spawn_child_agent", sh("exec sleep 60"));
  expect(child).toMatchObject({ success: true, parent: agent });
  const child_id = child["agent_id"] as string;
  expect((await at.workspace.runs.show(child_id)).parent).toBe(agent);
  expect(await call("spawn_child_agent", { ...sh("exec sleep 60"), parent_agent_id: child_id })).toMatchObject({
    isError: true,
    data: { code: "REFUSED_LIMIT" },
  });
  expect(await call("kill_real_agent", { agent_id: child_id, grace_seconds: 0 })).toMatchObject({
    data: { success: true, status: "terminated" },
  });
});

it("progress is told to who asks for it, and a cancelled wait ends at once", async () => {
  const at = lab();
  const { agent } = await at.sh("exec sleep 60");
  const { client } = await connect(at, "http", "legacy");
  const heard: string[] = [];
  const gone = new AbortController();
  const onprogress = ({ message = "" }: { message?: string | undefined }): void => {
    heard.push(message);
    gone.abort();
  };
  const wait = client.callTool(
    { name: "wait_for_agents", arguments: { agent_ids: [agent], timeout_seconds: 45 } },
    { onprogress, signal: gone.signal },
  );
  await expect(wait).rejects.toThrow();
  expect(heard).toEqual(["1 of 1 agents go on"]);
});

it("the journal is read on from a cursor, and a wrong one is refused", async () => {
  const { call } = await connect(lab(), "http", "modern");
  const log = (content: string) => call("log_event", { actor: "Agent A", type: "question", content });
  await log("one");
  const { data: before } = await call("get_communication", { type: "question" });
  expect(before["events"]).toMatchObject([{ content: "one", interaction: 1 }]);
  const { data: none } = await call("get_communication", { cursor: before["cursor"] });
  expect(none).toMatchObject({ events: [], cursor: before["cursor"] });
  await log("two");
  const { data: after } = await call("get_communication", { cursor: before["cursor"] });
  expect(after["events"]).toMatchObject([{ content: "two", interaction: 2 }]);
  expect(await call("get_communication", { cursor: "nonsense" })).toMatchObject({
    isError: true,
    data: { code: "USAGE" },
  });
});

it("an agent gets the server unless it is started without", async () => {
  const at = lab();
  const program = join(at.folder, "claude");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  const workspace = at.open({ env: { PATH: `${at.folder}:/usr/bin:/bin` } });
  const argv = async (mcp: boolean): Promise<string> => {
    const record = await workspace.runs.start({ driver: "claude", prompt: "hello", mcp });
    await workspace.runs.wait([record.agent]);
    return at.intent(record).argv.join(" ");
  };
  expect(await argv(true)).toContain("--mcp-config=");
  expect(await argv(false)).not.toContain("mcp");
});
