import { describe, expect, it } from "vitest";
import { ending, LOCAL, ofKind, REMOTE, readAll, request } from "../../test/support/cli/driver.ts";
import { codex } from "./codex.ts";

const started = { type: "thread.started", thread_id: "th-1" };
const turn = { type: "turn.started" };
const item = (event: string, fields: object): object => ({ type: `item.${event}`, item: fields });
const completed = (input: number, output: number, cached = 0): object => ({
  type: "turn.completed",
  usage: {
    input_tokens: input,
    cached_input_tokens: cached,
    cache_write_input_tokens: 0,
    output_tokens: output,
    reasoning_output_tokens: 5,
  },
});

describe("codex launch", () => {
  it("reads the prompt from stdin", () => {
    const launch = codex.launch(request({ model: "gpt", args: ["-i", "a.png"], permission: "edit" }));
    expect(launch.argv).toEqual(
      ["codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write"].concat([
        "-c",
        "check_for_update_on_startup=false",
        "--model",
        "gpt",
        "-i",
        "a.png",
        "--",
        "-",
      ]),
    );
    expect(launch).toMatchObject({ stdin: "Fix the build", session: null });
    expect(codex.launch(request({ permission: "ask" })).argv).toContain("read-only");
    expect(codex.launch(request({ permission: "all" })).argv).toContain("--dangerously-bypass-approvals-and-sandbox");
  });

  it("resumes with the options before the subcommand", () => {
    const { argv, session } = codex.launch(request({ resume: "th-1", args: ["--search"] }));
    expect(argv.slice(-4)).toEqual(["--search", "resume", "th-1", "-"]);
    expect(session).toBe("th-1");
  });

  it("gives servers by overrides and their secrets by the environment, and requires them", () => {
    const { argv, env } = codex.launch(request({ mcp: [REMOTE, LOCAL] }));
    expect(argv.join(" ")).not.toMatch(/secret/);
    expect(argv).toEqual(
      expect.arrayContaining([
        'mcp_servers.fleet.url="http://127.0.0.1:4750/mcp"',
        'mcp_servers.fleet.bearer_token_env_var="MCP_BEARER_FLEET"',
        "mcp_servers.fleet.required=true",
        'mcp_servers.demo.command="node"',
        'mcp_servers.demo.args=["server.mjs"]',
        'mcp_servers.demo.env_vars=["DEMO_KEY"]',
      ]),
    );
    expect(env).toEqual({ MCP_BEARER_FLEET: "secret-token-1", DEMO_KEY: "secret-key-2" });
  });

  it("refuses a server's variable that has another value already, without printing either", () => {
    const launch = () => codex.launch(request({ mcp: [LOCAL], env: { DEMO_KEY: "other-secret" } }));
    expect(launch).toThrow(/own value of DEMO_KEY/);
    expect(launch).not.toThrow(/secret/);
    expect(codex.launch(request({ mcp: [LOCAL], env: { DEMO_KEY: "secret-key-2" } })).env).toEqual({
      DEMO_KEY: "secret-key-2",
    });
  });

  it("names the variables that a server which starts agents has to inherit, and none of their values", () => {
    const own = { name: "midwatch", at: { ...LOCAL.at, env: {}, inherits: true } };
    const env = { OPENAI_API_KEY: "secret-key-9", MIDWATCH_CAPABILITY: "secret-cap", "BASH_FUNC_x%%": "() {}" };
    const launch = codex.launch(request({ mcp: [own], env }));
    expect(launch.argv).toContain('mcp_servers.midwatch.env_vars=["OPENAI_API_KEY"]');
    expect(JSON.stringify(launch)).not.toMatch(/secret|CAPABILITY/);
    expect(codex.launch(request({ mcp: [LOCAL], env })).argv.join(" ")).not.toContain("OPENAI_API_KEY");
  });

  it("opens its sandbox for further folders only where it may edit", () => {
    const added = (permission: "ask" | "edit" | "all") =>
      codex.launch(request({ permission, writable: ["/repo/.git/objects"] })).argv.join(" ");
    expect(added("edit")).toContain("--sandbox workspace-write --add-dir /repo/.git/objects");
    for (const permission of ["ask", "all"] as const) expect(added(permission)).not.toContain("--add-dir");
  });

  it("takes no messages", () => {
    expect(() => codex.launch(request({ interactive: true }))).toThrow(/takes no messages/);
    expect(codex.message).toBeUndefined();
  });
});

describe("codex reader", () => {
  it("reads a run, each tool once", () => {
    const command = {
      id: "item_1",
      type: "command_execution",
      command: "make",
      aggregated_output: "",
      exit_code: null,
      status: "in_progress",
    };
    const change = {
      id: "item_2",
      type: "file_change",
      changes: [{ path: "a.ts", kind: "update" }],
      status: "completed",
    };
    const call = {
      id: "item_3",
      type: "mcp_tool_call",
      server: "demo",
      tool: "echo",
      arguments: { text: "x" },
      error: { message: "requires approval" },
      status: "failed",
    };
    const { activities, result } = readAll(codex, [
      started,
      turn,
      item("completed", { id: "item_0", type: "reasoning", text: "hm" }),
      item("started", command),
      item("completed", { ...command, aggregated_output: "no rule", exit_code: 2, status: "failed" }),
      item("completed", change),
      item("completed", call),
      item("completed", { id: "item_4", type: "agent_message", text: "Done" }),
      completed(100, 20, 30),
    ]);
    expect(activities).toEqual([
      { kind: "started", session: "th-1", model: null },
      { kind: "note", name: "turn.started" },
      { kind: "thought", text: "hm" },
      { kind: "tool", id: "item_1", name: "command_execution", input: { command: "make" }, paths: [] },
      { kind: "tool_result", id: "item_1", ok: false, text: "no rule" },
      { kind: "tool", id: "item_2", name: "file_change", input: { changes: change.changes }, paths: ["a.ts"] },
      { kind: "tool_result", id: "item_2", ok: true, text: "" },
      { kind: "tool", id: "item_3", name: "mcp__demo__echo", input: { text: "x" }, paths: [] },
      { kind: "permission", tool: "mcp__demo__echo", denied: true, input: { text: "x" } },
      { kind: "tool_result", id: "item_3", ok: false, text: "requires approval" },
      { kind: "said", text: "Done" },
      { kind: "usage", tokens: { input: 70, output: 20, cache_read: 30, cache_write: 0 }, cost_usd: null, model: null },
      { kind: "finished", ok: true, why: null, text: "Done" },
    ]);
    expect(result).toMatchObject({ tools: 3, denied: 1, turns: 1 });
    expect(codex.judge(ending(result)).outcome).toBe("completed");
  });

  it("counts the sub-agents that it started, not the calls that wait for them", () => {
    const call = { type: "collab_tool_call", sender_thread_id: "th-1", agents_states: {} };
    const spawn = { ...call, id: "item_1", tool: "spawn_agent", prompt: "Look", receiver_thread_ids: [] };
    const wait = { ...call, id: "item_2", tool: "wait", prompt: null, receiver_thread_ids: ["th-2"] };
    const { result } = readAll(codex, [
      item("started", { ...spawn, status: "in_progress" }),
      item("completed", { ...spawn, receiver_thread_ids: ["th-2"], status: "completed" }),
      item("completed", { ...wait, status: "completed" }),
      item("completed", { ...spawn, id: "item_3", status: "failed" }),
    ]);
    expect(result).toMatchObject({ subagents: 1, tools: 3 });
  });

  it("takes off what the thread had used before, and passes on the thread's total", () => {
    const first = readAll(codex, [started, turn, completed(9800, 10)]).result;
    const second = readAll(codex, [started, turn, completed(19800, 25)], first.session_use).result;
    expect(second.tokens).toMatchObject({ input: 10_000, output: 15 });
    expect(second.session_use?.tokens).toMatchObject({ input: 19_800, output: 25 });
    const fresh = readAll(codex, [started, turn, completed(500, 5)], first.session_use).result;
    expect(fresh.tokens).toMatchObject({ input: 500, output: 5 });
  });

  it("takes errors for the end only in turn.failed", () => {
    const again = { type: "error", message: "Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)" };
    const alive = readAll(codex, [started, turn, again]);
    expect(ofKind(alive.activities, "trouble")).toMatchObject([{ trouble: "auth", status: 401, fatal: false }]);
    expect(alive.result.finished).toBeNull();
    const failed = readAll(codex, [
      started,
      turn,
      again,
      { type: "turn.failed", error: { message: "exceeded retry limit, last status: 429 Too Many Requests" } },
    ]);
    expect(failed.result.trouble?.trouble).toBe("rate_limit");
    expect(codex.judge(ending(failed.result, { exit: { code: 1, signal: null } })).reason).toMatch(
      /^Exceeded retry limit/,
    );
  });

  it("keeps warnings apart from trouble, and says when a usage limit ends", () => {
    const warning = item("completed", { id: "i", type: "error", message: "Model metadata for `x` not found." });
    expect(readAll(codex, [warning]).activities).toEqual([{ kind: "note", name: "item/error" }]);
    const text = "You've hit your usage limit. Try again in 3 days 6 hours 57 minutes.";
    const lines = [started, turn, { type: "turn.failed", error: { message: text } }];
    const { result } = readAll(codex, lines, null, Date.parse("2026-11-15T00:00:00Z"));
    expect(result.trouble).toMatchObject({ trouble: "quota", resets_at: "2026-11-18T06:57:00.000Z" });
    expect(codex.judge(ending(result, { exit: { code: 1, signal: null } })).reason).toMatch(
      /resets at 2026-11-18T06:57:00.000Z/,
    );
  });
});

describe("codex judge", () => {
  it("needs turn.completed", () => {
    const cut = readAll(codex, [started, turn]).result;
    expect(codex.judge(ending(cut))).toEqual({ outcome: "failed", reason: "It ended without a result (exit code 0)." });
    expect(codex.judge(ending(cut, { exit: { code: null, signal: "SIGTERM" } })).reason).toMatch(/SIGTERM/);
    const stderr = "Reading additional input from stdin...\nError: no rollout found for thread id x\n";
    expect(codex.judge(ending(cut, { exit: { code: 1, signal: null }, stderr })).reason).toMatch(/no rollout found/);
  });
});
