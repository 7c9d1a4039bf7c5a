import { describe, expect, it } from "vitest";
import { ending, ofKind, REMOTE, readAll, request, SESSION } from "../../test/support/cli/driver.ts";
import { gemini } from "./gemini.ts";

const timestamp = "2026-11-15T19:00:00.000Z";
const init = { type: "init", timestamp, session_id: SESSION, model: "gemini-x" };
const piece = (content: string): object => ({ type: "message", timestamp, role: "assistant", content, delta: true });
const stats = {
  total_tokens: 130,
  input_tokens: 100,
  output_tokens: 20,
  cached: 40,
  models: { "gemini-x": { total_tokens: 130 }, idle: { total_tokens: 0 } },
};

describe("gemini launch", () => {
  it("chooses the session and keeps signals working", () => {
    const launch = gemini.launch(request({ model: "flash", permission: "all", args: ["--debug"] }));
    expect(launch.argv).toEqual(
      ["gemini", "-o", "stream-json", "--skip-trust", "--approval-mode", "yolo", "--session-id", SESSION].concat([
        "--model",
        "flash",
        "--debug",
      ]),
    );
    expect(launch).toMatchObject({ env: { GEMINI_CLI_NO_RELAUNCH: "true" }, stdin: "Fix the build", session: SESSION });
    const modes = (["ask", "edit", "plan"] as const).map(
      (permission) => gemini.launch(request({ permission })).argv[5],
    );
    expect(modes).toEqual(["default", "auto_edit", "plan"]);
    expect(gemini.launch(request({ resume: "old" })).argv).toEqual(expect.arrayContaining(["--resume", "old"]));
  });

  it("refuses what it cannot do", () => {
    expect(() => gemini.launch(request({ mcp: [REMOTE] }))).toThrow(/cannot be given MCP servers/);
    expect(() => gemini.launch(request({ interactive: true }))).toThrow(/takes no messages/);
    expect([gemini.mcp, gemini.legacy]).toEqual([false, true]);
  });
});

describe("gemini reader", () => {
  it("reads a run and joins the pieces of the answer", () => {
    const { activities, result } = readAll(gemini, [
      init,
      { type: "message", timestamp, role: "user", content: "Fix" },
      piece("I write."),
      { type: "tool_use", timestamp, tool_name: "write_file", tool_id: "w1", parameters: { file_path: "/b.ts" } },
      { type: "tool_result", timestamp, tool_id: "w1", status: "error", error: { message: "read-only" } },
      piece("It is "),
      piece("done."),
      { type: "result", timestamp, status: "success", stats },
    ]);
    expect(ofKind(activities, "tool")).toMatchObject([{ name: "write_file", id: "w1", paths: ["/b.ts"] }]);
    expect(ofKind(activities, "tool_result")).toEqual([
      { kind: "tool_result", id: "w1", ok: false, text: "read-only" },
    ]);
    expect(result).toMatchObject({ session: SESSION, model: "gemini-x", turns: 2, tools: 1 });
    expect(result.finished).toEqual({ ok: true, why: null, text: "It is done." });
    expect(result.tokens).toEqual({ input: 60, output: 30, cache_read: 40, cache_write: 0 });
    expect(gemini.judge(ending(result)).outcome).toBe("completed");
  });

  it("unwraps the API's message, and dates a quota from the line's own time", () => {
    const message =
      '[API Error: {"error":{"code":429,"message":"You have exhausted your quota. It resets after 13h24m6s.","status":"RESOURCE_EXHAUSTED"}}]';
    const { result } = readAll(gemini, [
      init,
      { type: "result", timestamp, status: "error", error: { message }, stats },
    ]);
    expect(result.trouble).toMatchObject({ trouble: "quota", resets_at: "2026-11-16T08:24:06.000Z" });
    expect(gemini.judge(ending(result)).reason).toMatch(
      /^API error 429: You have exhausted your quota.*resets at 2026-11-16/,
    );
  });
});

describe("gemini trouble", () => {
  it("is over when the run ends well, and a warning is none", () => {
    const error = { type: "error", timestamp, severity: "error", message: "fetch failed" };
    const { activities, result } = readAll(gemini, [init, error]);
    expect(ofKind(activities, "trouble")).toMatchObject([{ trouble: "network", fatal: false }]);
    expect(result.trouble?.trouble).toBe("network");
    expect(readAll(gemini, [init, error, { type: "result", status: "success", stats }]).result.trouble).toBeNull();
    expect(readAll(gemini, [{ ...error, severity: "warning" }]).activities).toEqual([
      { kind: "note", name: "warning" },
    ]);
  });
});

describe("gemini stderr", () => {
  const retry = (attempt: number, status: number): string =>
    `Attempt ${attempt} failed with status ${status}. Retrying with backoff... _ApiError: {"error":{}}\n    at x (y.js:1:2) {\n`;

  it("tells the retries of the last request, and no chatter", () => {
    const text = `YOLO mode is enabled.\n${retry(1, 503)}${retry(2, 503)}${retry(1, 429)}${retry(2, 429)}`;
    expect(gemini.stderr?.(text, 0)).toMatchObject([
      { kind: "trouble", trouble: "rate_limit", status: 429, fatal: false, text: expect.stringMatching(/^Attempt 1/) },
      { kind: "trouble", trouble: "rate_limit", status: 429, text: expect.stringMatching(/^Attempt 2/) },
    ]);
    const later = "Attempt 3 failed. Retrying with backoff... TypeError: fetch failed\n";
    expect(gemini.stderr?.(later, 0)).toMatchObject([{ trouble: "network" }]);
    expect(gemini.stderr?.("Warning: Basic terminal detected\n", 0)).toEqual([]);
  });
});

describe("gemini judge", () => {
  it("does not take exit 0 for success without a result, as after a signal", () => {
    const cut = readAll(gemini, [init, piece("Sleeping.")]).result;
    expect(gemini.judge(ending(cut))).toMatchObject({ outcome: "failed" });
    expect(gemini.judge(ending(cut, { stopRequested: true })).outcome).toBe("stopped");
    expect(gemini.judge(ending(cut, { exit: { code: 145, signal: null } })).reason).toMatch(/HTTP 401/);
  });
});
