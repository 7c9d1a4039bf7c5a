import { describe, expect, it } from "vitest";
import { ending, LOCAL, ofKind, REMOTE, readAll, request } from "../../test/support/cli/driver.ts";
import { opencode } from "./opencode.ts";

const line = (type: string, part: object, more: object = {}): object => ({
  type,
  timestamp: 1794769200000,
  sessionID: "ses_1",
  part,
  ...more,
});
const step = line("step_start", { type: "step-start" });
const finish = (reason: string, input = 10): object =>
  line("step_finish", { reason, tokens: { input, output: 3, reasoning: 2, cache: { read: 4, write: 1 } }, cost: 0.25 });
const tool = (state: object): object =>
  line("tool_use", { tool: "edit", callID: "c1", state: { input: { filePath: "/c.ts" }, ...state } });

function configOf(env: Readonly<Record<string, string>>): Record<string, unknown> {
  return JSON.parse(env["OPENCODE_CONFIG_CONTENT"] ?? "{}") as Record<string, unknown>;
}

describe("opencode launch", () => {
  it("gives the prompt by stdin and permissions by configuration", () => {
    const launch = opencode.launch(
      request({ model: "a/b", permission: "edit", resume: "ses_0", args: ["--thinking"] }),
    );
    expect(launch.argv).toEqual([
      "opencode",
      "run",
      "--format",
      "json",
      "--session",
      "ses_0",
      "--model",
      "a/b",
      "--thinking",
    ]);
    expect(configOf(launch.env)["permission"]).toMatchObject({ edit: "allow", bash: "deny" });
    expect(launch).toMatchObject({
      stdin: "Fix the build",
      session: "ses_0",
      env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    });
    expect(configOf(opencode.launch(request({ permission: "ask" })).env)["permission"]).toMatchObject({
      edit: "deny",
      bash: "deny",
    });
    const all = opencode.launch(request({ permission: "all" }));
    expect([all.argv.includes("--auto"), all.env["OPENCODE_CONFIG_CONTENT"]]).toEqual([true, undefined]);
    expect(opencode.launch(request({ permission: "plan" })).argv).toEqual(expect.arrayContaining(["--agent", "plan"]));
  });

  it("adds servers and rules to the caller's own inline configuration", () => {
    const own = { model: "x/y", permission: "allow", mcp: { mine: { type: "local", command: ["m"] } } };
    const env = { OPENCODE_CONFIG_CONTENT: JSON.stringify(own) };
    const launch = opencode.launch(request({ mcp: [REMOTE, LOCAL], env, permission: "edit" }));
    expect(launch.argv.join(" ")).not.toMatch(/secret/);
    expect(configOf(launch.env)).toEqual({
      model: "x/y",
      permission: { "*": "allow", edit: "allow", bash: "deny", webfetch: "deny" },
      mcp: {
        mine: own.mcp.mine,
        fleet: {
          type: "remote",
          url: REMOTE.at.url,
          headers: { Authorization: "Bearer secret-token-1" },
          oauth: false,
          enabled: true,
          timeout: 60_000,
        },
        demo: {
          type: "local",
          command: ["node", "server.mjs"],
          environment: LOCAL.at.env,
          enabled: true,
          timeout: 60_000,
        },
      },
    });
  });

  it("refuses an inline configuration that it cannot add to, without printing it", () => {
    const launch = () => opencode.launch(request({ env: { OPENCODE_CONFIG_CONTENT: "{secret" } }));
    expect(launch).toThrow(/not a JSON object/);
    expect(launch).not.toThrow(/secret/);
    expect(() => opencode.launch(request({ interactive: true }))).toThrow(/takes no messages/);
  });
});

describe("opencode reader", () => {
  it("reads a run and adds up its steps", () => {
    const { activities, result } = readAll(opencode, [
      step,
      tool({ status: "completed", output: "ok", metadata: {} }),
      finish("tool-calls"),
      step,
      line("reasoning", { text: "hm" }),
      line("text", { text: "Done" }),
      finish("stop", 20),
    ]);
    expect(activities[0]).toEqual({ kind: "started", session: "ses_1", model: null });
    expect(ofKind(activities, "tool")).toMatchObject([{ id: "c1", name: "edit", paths: ["/c.ts"] }]);
    expect(ofKind(activities, "tool_result")).toEqual([{ kind: "tool_result", id: "c1", ok: true, text: "ok" }]);
    expect(result).toMatchObject({ session: "ses_1", turns: 2, tools: 1, cost_usd: 0.5 });
    expect(result.tokens).toEqual({ input: 30, output: 10, cache_read: 8, cache_write: 2 });
    expect(result.finished).toEqual({ ok: true, why: null, text: "Done" });
    expect(opencode.judge(ending(result)).outcome).toBe("completed");
  });

  it("does not call a run complete that stopped at a permission nobody gave, though it exits 0", () => {
    const refused = tool({ status: "error", error: "The user rejected permission to use this specific tool call." });
    const { result } = readAll(opencode, [step, refused, finish("tool-calls")]);
    expect(result.denied).toBe(1);
    expect(opencode.judge(ending(result))).toEqual({
      outcome: "failed",
      reason: "It ended without a result (exit code 0): a tool was not permitted.",
    });
  });

  it("reads an API error with its status and the time to wait", () => {
    const data = { message: "slow down", statusCode: 429, responseHeaders: { "retry-after": "60" } };
    const { activities, result } = readAll(opencode, [line("error", {}, { error: { name: "APIError", data } })]);
    expect(ofKind(activities, "trouble")).toMatchObject([
      { trouble: "rate_limit", status: 429, fatal: true, resets_at: "2026-11-15T19:01:00.000Z" },
    ]);
    expect(opencode.judge(ending(result, { exit: { code: 1, signal: null } })).reason).toMatch(/^Slow down/);
  });

  it("does not take an earlier end for the last one", () => {
    const { result } = readAll(opencode, [step, finish("stop"), step]);
    expect(opencode.judge(ending(result)).outcome).toBe("failed");
  });

  it("fails on a last step that was cut off, and takes an exit by a tool for a failed tool", () => {
    const { result } = readAll(opencode, [step, finish("length")]);
    expect(opencode.judge(ending(result)).reason).toBe("Its last step ended with length.");
    const failed = tool({ status: "completed", output: "no", metadata: { exit: 1 } });
    expect(ofKind(readAll(opencode, [failed]).activities, "tool_result")).toMatchObject([{ ok: false }]);
  });
});
