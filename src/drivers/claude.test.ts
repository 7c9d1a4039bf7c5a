import { describe, expect, it } from "vitest";
import { ending, LOCAL, ofKind, REMOTE, readAll, request, SESSION } from "../../test/support/cli/driver.ts";
import { claude } from "./claude.ts";

const init = { type: "system", subtype: "init", session_id: SESSION, model: "claude-x", tools: [] };

function said(id: string, block: unknown, usage = { input_tokens: 100, output_tokens: 1 }, more: object = {}): object {
  const message = { id, role: "assistant", model: "claude-x", content: [block], usage };
  return { type: "assistant", message, parent_tool_use_id: null, request_id: `req_${id}`, ...more };
}

function done(over: object = {}): object {
  const modelUsage = {
    "claude-x": { inputTokens: 300, outputTokens: 40, cacheReadInputTokens: 7, cacheCreationInputTokens: 9 },
  };
  const usage = { input_tokens: 200, output_tokens: 30 };
  return {
    type: "result",
    subtype: "success",
    is_error: false,
    result: "All done",
    total_cost_usd: 0.5,
    usage,
    modelUsage,
    permission_denials: [],
    ...over,
  };
}

const bash = { type: "tool_use", id: "t1", name: "Bash", input: { command: "make" } };

describe("claude launch", () => {
  it("is told what it may spend, unless the caller told it", () => {
    const budget = (over: object): string[] => {
      const { argv } = claude.launch(request(over));
      return argv.flatMap((word, i) => (word === "--max-budget-usd" ? [argv[i + 1] ?? ""] : []));
    };
    expect(budget({})).toEqual([]);
    expect(budget({ budget_usd: 0.3 })).toEqual(["0.3"]);
    expect(budget({ budget_usd: 0.3, args: ["--max-budget-usd", "9"] })).toEqual(["9"]);
    const over = readAll(claude, [init, done({ subtype: "error_max_budget_usd", is_error: true })]).result;
    expect(claude.judge(ending(over, { exit: { code: 1, signal: null } }))).toEqual({
      outcome: "limit",
      reason: "It reached its budget.",
    });
  });

  it("chooses the session, keeps the prompt out of argv and the updater off", () => {
    const launch = claude.launch(request({ model: "opus", args: ["--max-turns", "3"] }));
    expect(launch.argv).toEqual(
      ["claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "default"].concat([
        "--session-id",
        SESSION,
        "--model",
        "opus",
        "--max-turns",
        "3",
      ]),
    );
    expect(launch).toMatchObject({
      env: { DISABLE_AUTOUPDATER: "1" },
      stdin: "Fix the build",
      session: SESSION,
      files: [],
    });
  });

  it("says that the machine is a sandbox only to root with every permission", () => {
    const sandbox = (permission: "all" | "edit", root: boolean) =>
      claude.launch(request({ permission, root })).env["IS_SANDBOX"];
    expect([sandbox("all", true), sandbox("all", false), sandbox("edit", true)]).toEqual(["1", undefined, undefined]);
    expect(claude.launch(request({ permission: "all" })).argv).toContain("--dangerously-skip-permissions");
    expect(claude.launch(request({ permission: "edit" })).argv).toContain("acceptEdits");
    expect(claude.launch(request({ permission: "plan" })).argv).toContain("plan");
  });

  it("puts servers into a private file: no token is in argv, and that of a remote one only in the environment", () => {
    const launch = claude.launch(request({ mcp: [REMOTE, LOCAL] }));
    expect(launch.argv.join(" ")).not.toMatch(/secret/);
    expect(launch.env["MCP_BEARER_FLEET"]).toBe("secret-token-1");
    expect(launch.argv).toContain("--mcp-config=/run/folder/mcp.json");
    expect(launch.argv).toContain("--allowedTools=mcp__fleet,mcp__demo");
    expect(launch.env).toMatchObject({ MCP_CONNECTION_NONBLOCKING: "0" });
    expect(launch.files.map(({ name }) => name)).toEqual(["mcp.json"]);
    expect(JSON.parse(launch.files[0]?.content ?? "")).toEqual({
      mcpServers: {
        fleet: {
          type: "http",
          url: REMOTE.at.url,
          headers: { Authorization: `Bearer ${"$"}{MCP_BEARER_FLEET}` },
          alwaysLoad: true,
        },
        demo: { type: "stdio", ...LOCAL.at, alwaysLoad: true },
      },
    });
  });

  it("refuses names that cannot be part of a tool's name, and two of a kind", () => {
    expect(() => claude.launch(request({ mcp: [{ ...REMOTE, name: "a.b" }] }))).toThrow(/cannot be the name/);
    expect(() => claude.launch(request({ mcp: [REMOTE, REMOTE] }))).toThrow(/two MCP servers/);
  });

  it("resumes a session, and takes messages as lines when interactive", () => {
    const launch = claude.launch(request({ resume: "old", interactive: true }));
    expect(launch.argv).toEqual(expect.arrayContaining(["--resume", "old", "--input-format"]));
    expect(launch.argv).not.toContain("--session-id");
    expect(launch.session).toBe("old");
    expect(launch.stdin).toBe(claude.message?.("Fix the build"));
    expect(JSON.parse(launch.stdin)).toEqual({ type: "user", message: { role: "user", content: "Fix the build" } });
    expect(launch.stdin.endsWith("}\n")).toBe(true);
  });
});

describe("claude reader", () => {
  it("reads a run: session, words, tools with paths, results, the end", () => {
    const edit = { type: "tool_use", id: "t2", name: "Edit", input: { file_path: "/a.ts", old_string: "x" } };
    const { activities, result } = readAll(claude, [
      init,
      said("m1", { type: "thinking", thinking: "hm" }),
      said("m1", { type: "text", text: "I look." }),
      said("m1", edit),
      {
        type: "user",
        message: {
          content: [
            { type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: "bad" }], is_error: true },
          ],
        },
      },
      done(),
    ]);
    expect(activities.filter(({ kind }) => kind !== "usage")).toEqual([
      { kind: "started", session: SESSION, model: "claude-x" },
      { kind: "thought", text: "hm" },
      { kind: "said", text: "I look." },
      { kind: "tool", id: "t2", name: "Edit", input: edit.input, paths: ["/a.ts"] },
      { kind: "tool_result", id: "t2", ok: false, text: "bad" },
      { kind: "finished", ok: true, why: null, text: "All done" },
    ]);
    expect(result).toMatchObject({ session: SESSION, model: "claude-x", turns: 1, tools: 1, denied: 0, cost_usd: 0.5 });
    expect(result.tokens).toEqual({ input: 300, output: 40, cache_read: 7, cache_write: 9 });
  });

  it("counts a message once, however many blocks it is printed in", () => {
    const { result } = readAll(claude, [
      init,
      said("m1", { type: "text", text: "a" }),
      said("m1", bash),
      said("m1", bash, { input_tokens: 100, output_tokens: 12 }),
      said("m1", bash),
      said("m2", { type: "text", text: "b" }),
      said("s1", { type: "text", text: "sub" }, undefined, { parent_tool_use_id: "t1" }),
    ]);
    expect(result.tokens).toEqual({ input: 300, output: 14, cache_read: 0, cache_write: 0 });
    expect(result.turns).toBe(2);
    expect(result.finished).toBeNull();
  });

  it("counts a sub-agent's messages as they come, between the blocks of others, each with what it came to", () => {
    const below = { parent_tool_use_id: "t1" };
    const tokens = (lines: readonly object[]): unknown => readAll(claude, lines).result.tokens;
    const first = said("m1", bash);
    const sub = said("s1", bash, { input_tokens: 50, output_tokens: 1 }, below);
    expect(tokens([first, sub, first, sub])).toMatchObject({ input: 150, output: 2 });
    const grown = said("s1", bash, { input_tokens: 50, output_tokens: 30 }, below);
    expect(tokens([first, sub, first, grown, sub, grown])).toMatchObject({ input: 150, output: 31 });
  });

  it("counts on from a result in two-way use, and survives a counter set back to zero", () => {
    const lines = [
      init,
      said("m1", { type: "text", text: "a" }),
      done(),
      init,
      said("m2", { type: "text", text: "b" }),
    ];
    expect(readAll(claude, lines).result).toMatchObject({
      tokens: { input: 400, output: 41 },
      finished: null,
      cost_usd: 0.5,
    });
    const goesOn = [init, done(), said("m2", { type: "text", text: "b" })];
    expect(readAll(claude, goesOn).result.finished).toBeNull();
    const small = { modelUsage: { "claude-x": { inputTokens: 10, outputTokens: 1 } }, total_cost_usd: 0.1 };
    expect(readAll(claude, [...lines, done(small)]).result).toMatchObject({
      tokens: { input: 310, output: 41 },
      cost_usd: 0.6,
    });
  });

  it("takes off what a resumed session had used before, whichever way this version counts", () => {
    const before = { tokens: { input: 1000, output: 60, cache_read: 0, cache_write: 0 }, cost_usd: 2 };
    const total = (inputTokens: number, outputTokens: number, total_cost_usd: number) =>
      done({ modelUsage: { x: { inputTokens, outputTokens } }, total_cost_usd });
    const words = said("m1", { type: "text", text: "a" }, { input_tokens: 400, output_tokens: 1 });
    const cumulative = readAll(claude, [init, words, total(1400, 90, 2.5)], before).result;
    expect(cumulative).toMatchObject({ tokens: { input: 400, output: 30 }, cost_usd: 0.5 });
    expect(cumulative.session_use).toEqual({
      tokens: { input: 1400, output: 90, cache_read: 0, cache_write: 0 },
      cost_usd: 2.5,
    });
    const own = readAll(claude, [init, words, total(400, 30, 0.5)], before).result;
    expect(own).toMatchObject({ tokens: { input: 400, output: 30 }, cost_usd: 0.5 });
    const long = said("m1", { type: "text", text: "a" }, { input_tokens: 1500, output_tokens: 1 });
    expect(readAll(claude, [init, long, total(1500, 70, 3)], before).result).toMatchObject({
      tokens: { input: 1500, output: 70 },
      cost_usd: 3,
    });
    expect(readAll(claude, [init], before).result.session_use).toEqual(before);
  });

  it("tells troubles: retries are not the end, a synthetic message is", () => {
    const retry = {
      type: "system",
      subtype: "api_retry",
      attempt: 2,
      max_retries: 10,
      error_status: 529,
      error: "overloaded",
    };
    const cut = { ...retry, error_status: null, error: "unknown" };
    const failed = {
      type: "assistant",
      error: "authentication_failed",
      message: { model: "<synthetic>", content: [{ type: "text", text: "Invalid API key" }] },
    };
    const { activities, result } = readAll(claude, [
      init,
      retry,
      cut,
      failed,
      done({ is_error: true, api_error_status: 401, result: "Invalid API key", modelUsage: {} }),
    ]);
    expect(ofKind(activities, "trouble").map(({ trouble, fatal, status }) => [trouble, fatal, status])).toEqual([
      ["overloaded", false, 529],
      ["network", false, null],
      ["auth", true, 401],
    ]);
    expect(result.trouble?.trouble).toBe("auth");
    expect(claude.judge(ending(result))).toEqual({ outcome: "failed", reason: "Invalid API key." });
  });

  it("forgets a trouble once work goes on", () => {
    const retry = {
      type: "system",
      subtype: "api_retry",
      attempt: 1,
      max_retries: 10,
      error_status: 429,
      error: "rate_limit",
    };
    expect(readAll(claude, [init, retry]).result.trouble?.trouble).toBe("rate_limit");
    expect(readAll(claude, [init, retry, said("m1", { type: "text", text: "ok" })]).result.trouble).toBeNull();
  });

  it("reads a rejected usage limit with its reset time", () => {
    const event = {
      type: "rate_limit_event",
      rate_limit_info: { status: "rejected", resetsAt: 1794787200, rateLimitType: "five_hour" },
    };
    expect(ofKind(readAll(claude, [event]).activities, "trouble")).toMatchObject([
      { trouble: "quota", resets_at: "2026-11-16T00:00:00.000Z" },
    ]);
    const warning = { ...event, rate_limit_info: { status: "allowed_warning" } };
    expect(readAll(claude, [warning]).activities).toEqual([{ kind: "note", name: "rate_limit_event/allowed_warning" }]);
  });

  it("tells the trouble from the result alone when nothing else did", () => {
    const result = "You've hit your limit · resets 3pm (UTC)";
    const lines = [init, done({ is_error: true, result })];
    const read = readAll(claude, lines, null, Date.parse("2026-11-15T10:00:00Z"));
    expect(ofKind(read.activities, "trouble")).toMatchObject([{ trouble: "quota", fatal: true }]);
    expect(claude.judge(ending(read.result)).reason).toBe(`${result} (resets at 2026-11-15T15:00:00.000Z).`);
    expect(
      ofKind(readAll(claude, [init, done({ subtype: "error_max_turns", result: undefined })]).activities, "trouble"),
    ).toEqual([]);
  });

  it("tells each denied tool once, at once or at the end", () => {
    const denial = { tool_name: "Bash", tool_use_id: "t1" };
    const called = { ...denial, tool_input: { command: "make" } };
    const end = done({ permission_denials: [called, { tool_name: "Write" }] });
    const lines = [
      init,
      said("m1", bash),
      { type: "system", subtype: "permission_denied", ...denial },
      said("m2", { ...bash, id: "t2" }),
      end,
    ];
    const { activities, result } = readAll(claude, lines);
    expect(ofKind(activities, "permission")).toMatchObject([
      { tool: "Bash", denied: true },
      { tool: "Write", denied: true },
    ]);
    expect(result.denial).toEqual({ tool: "Bash", input: { command: "make" } });
    expect(claude.judge(ending(result))).toMatchObject({ outcome: "failed", reason: expect.stringMatching(/denied/) });
    expect(readAll(claude, lines.slice(0, -1)).result.denied).toBe(1);
  });

  it("notes a message that was taken up, a question, and what it does not know", () => {
    const lines = [
      { type: "user", isReplay: true, message: { role: "user", content: "more" } },
      { type: "control_request", request: { subtype: "can_use_tool", tool_name: "Bash" } },
      { type: "brand_new", subtype: "thing" },
      {
        ...init,
        mcp_servers: [
          { name: "up", status: "connected" },
          { name: "down", status: "failed" },
        ],
      },
    ];
    expect(readAll(claude, lines).activities).toEqual([
      { kind: "note", name: "message_received", text: "more" },
      { kind: "permission", tool: "Bash", denied: false },
      { kind: "note", name: "brand_new/thing" },
      { kind: "started", session: SESSION, model: "claude-x" },
      { kind: "note", name: "mcp_failed/down" },
    ]);
  });
});

describe("claude judge", () => {
  const judged = (lines: readonly unknown[], code = 0) =>
    claude.judge(ending(readAll(claude, lines).result, { exit: { code, signal: null } }));

  it("is not completed when it ends on a call that was deferred, though it says success and exits 0", () => {
    const call = { id: "t9", name: "Bash", input: { command: "rm -rf build" } };
    const end = done({ stop_reason: "tool_deferred", result: "", deferred_tool_use: call });
    const { activities, result } = readAll(claude, [init, said("m1", bash), end]);
    expect(result.deferred).toEqual({ id: "t9", tool: "Bash", input: { command: "rm -rf build" } });
    expect(activities.at(-1)).toEqual({ kind: "permission", tool: "Bash", denied: false });
    expect(claude.judge(ending(result))).toEqual({
      outcome: "failed",
      reason: "It deferred its call of Bash and waits for a person to decide.",
    });
  });

  it("counts sub-agents, as it goes and then as the result has them", () => {
    const spawn = { type: "tool_use", id: "t2", name: "Agent", input: { prompt: "look" } };
    expect(readAll(claude, [init, said("m1", spawn)]).result.subagents).toBe(1);
    const end = done({ subagent_stats: { spawned: 3 } });
    expect(readAll(claude, [init, said("m1", spawn), end]).result.subagents).toBe(3);
  });

  it("needs a result, a good one, and exit 0", () => {
    expect(judged([init, done()])).toEqual({ outcome: "completed", reason: null });
    expect(judged([init])).toEqual({ outcome: "failed", reason: "It ended without a result (exit code 0)." });
    expect(judged([init], 143).reason).toBe("It ended without a result (exit code 143, SIGTERM).");
    expect(judged([init, done()], 1).outcome).toBe("failed");
    expect(judged([init, done({ is_error: true, result: "API Error: 500 oops" })]).reason).toBe("API Error: 500 oops.");
    expect(judged([init, done({ subtype: "error_max_turns", result: undefined })], 1).reason).toBe(
      "It reached its limit of turns.",
    );
    const gone = {
      subtype: "error_during_execution",
      is_error: true,
      result: undefined,
      errors: ["No conversation found"],
    };
    expect(judged([done(gone)], 1).reason).toBe("No conversation found.");
  });
});
