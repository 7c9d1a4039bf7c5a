import { describe, expect, it } from "vitest";
import { ending, REMOTE, readAll, request } from "../../test/support/cli/driver.ts";
import { command } from "./command.ts";

describe("command", () => {
  it("runs what it is given", () => {
    expect(command.launch(request({ args: ["make", "test"], permission: "all" }))).toEqual({
      argv: ["make", "test"],
      env: {},
      stdin: "Fix the build",
      files: [],
      session: null,
    });
    expect(command.message?.("go on")).toBe("go on\n");
  });

  it("refuses what only an agent CLI can do", () => {
    const args = ["make"];
    expect(() => command.launch(request())).toThrow(/needs a program/);
    expect(() => command.launch(request({ args, model: "x" }))).toThrow(/takes no model/);
    expect(() => command.launch(request({ args, resume: "x" }))).toThrow(/no session/);
    expect(() => command.launch(request({ args, mcp: [REMOTE] }))).toThrow(/no MCP/);
  });

  it("says its lines and counts nothing", () => {
    const { activities, result } = readAll(command, ["hello", { a: 1 }, 7]);
    expect(activities.map((activity) => activity.kind === "said" && activity.text)).toEqual(["hello", '{"a":1}', "7"]);
    expect(result).toMatchObject({ tokens: null, cost_usd: null, finished: null });
  });

  it("is judged by its exit alone", () => {
    const { result } = readAll(command, []);
    const judged = (code: number | null, signal: string | null = null) =>
      command.judge(ending(result, { exit: { code, signal } }));
    expect(judged(0)).toEqual({ outcome: "completed", reason: null });
    expect(judged(3)).toEqual({ outcome: "failed", reason: "It failed (exit code 3)." });
    expect(judged(null, "SIGSEGV").reason).toBe("It failed (ended by SIGSEGV).");
    expect(judged(null).outcome).toBe("lost");
  });
});
