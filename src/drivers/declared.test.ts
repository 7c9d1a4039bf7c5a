import { describe, expect, it } from "vitest";
import { ending, REMOTE, readAll, request, SESSION } from "../../test/support/cli/driver.ts";
import { declaredDriver } from "./declared.ts";

const plain = { name: "aider", program: "aider", args: ["--yes", ["--model", "{model}"]] };
const rich = {
  name: "mine",
  program: "mine",
  install: "pip install mine",
  versions: ["3"],
  args: ["run", "--dir={cwd}", ["--model", "{model}"], ["--resume", "{resume}"], ["--id", "{session}"]],
  permission: { edit: ["--edit"], all: ["--yolo"] },
  env: { MINE_QUIET: "1" },
  json: true,
  success: { exit_codes: [0, 3], result: { type: "end", "status.ok": true } },
  failure: { result: { type: "end", "status.ok": false }, why: "status.why" },
  session: "id",
  model: "model",
  text: "say",
  tool: "call.name",
  cost_usd: "use.usd",
  tokens: { input: "use.in", output: "use.out", each: "part" },
};
const END = { type: "end", status: { ok: true } };

describe("a declared driver", () => {
  it("fills placeholders and leaves out groups without a value", () => {
    const driver = declaredDriver(rich);
    const fresh = driver.launch(request({ model: "m1", permission: "edit", args: ["--extra"] }));
    expect(fresh).toEqual({
      argv: ["mine", "run", "--dir=/project", "--model", "m1", "--id", SESSION, "--edit", "--extra"],
      env: { MINE_QUIET: "1" },
      stdin: "Fix the build",
      files: [],
      session: SESSION,
    });
    const resumed = driver.launch(request({ resume: "r1" }));
    expect(resumed).toMatchObject({ argv: ["mine", "run", "--dir=/project", "--resume", "r1"], session: "r1" });
    expect(declaredDriver(plain).launch(request())).toMatchObject({ argv: ["aider", "--yes"], session: null });
    expect(declaredDriver({ ...plain, stdin: "none" }).launch(request()).stdin).toBe("");
  });

  it("does not put a value's own braces through again", () => {
    expect(declaredDriver(plain).launch(request({ model: "{cwd}" })).argv).toEqual([
      "aider",
      "--yes",
      "--model",
      "{cwd}",
    ]);
  });

  it("refuses what was not declared", () => {
    const driver = declaredDriver(plain);
    expect(() => driver.launch(request({ resume: "r" }))).toThrow(/no place for a session/);
    expect(() => driver.launch(request({ permission: "all" }))).toThrow(/declares no permission all/);
    expect(() => driver.launch(request({ mcp: [REMOTE] }))).toThrow(/takes no MCP servers/);
    expect(() => driver.launch(request({ interactive: true }))).toThrow(/takes no messages/);
    expect(() => declaredDriver({ ...plain, args: ["--model={model}"] }).launch(request())).toThrow(
      /needs a value for \{model\}/,
    );
    expect(() => declaredDriver({ name: "x", program: "x" }).launch(request({ model: "m" }))).toThrow(
      /no place for a model/,
    );
  });

  it("reads what its paths point at", () => {
    const { activities, result } = readAll(declaredDriver(rich), [
      { id: "s-1", model: "m1" },
      { say: "hi", use: { in: 10, out: 2, usd: 0.5 } },
      { call: { name: "grep" }, use: { in: 5 } },
      { type: "other" },
      "no json",
      END,
    ]);
    expect(activities.map(({ kind }) => kind)).toEqual([
      "started",
      "said",
      "usage",
      "tool",
      "usage",
      "note",
      "unparsed",
      "finished",
    ]);
    expect(result).toMatchObject({ session: "s-1", model: "m1", tools: 1, cost_usd: 0.5 });
    expect(result.tokens).toEqual({ input: 15, output: 2, cache_read: 0, cache_write: 0 });
    expect(result.finished).toEqual({ ok: true, why: null, text: "hi" });
    const total = declaredDriver({ ...rich, tokens: { ...rich.tokens, each: "total" } });
    expect(readAll(total, [{ use: { in: 10 } }, { use: { in: 25 } }]).result.tokens?.input).toBe(25);
  });

  it("is judged by exit code and result together", () => {
    const driver = declaredDriver(rich);
    const judged = (lines: unknown[], code: number) =>
      driver.judge(ending(readAll(driver, lines).result, { exit: { code, signal: null } }));
    expect([judged([END], 0), judged([END], 3)].map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
    expect(judged([END], 1).outcome).toBe("failed");
    expect(judged([], 0).reason).toMatch(/without a result/);
    expect(judged([{ type: "end", status: { ok: false, why: "out of ideas" } }], 0).reason).toBe("Out of ideas.");
    const odd = declaredDriver({ ...rich, success: { ...rich.success, exit_codes: [3] } });
    expect(odd.judge(ending(readAll(odd, [END]).result)).outcome).toBe("failed");
    const text = declaredDriver({ ...plain, success: { exit_codes: [0, 2] } });
    const exit = (code: number) =>
      text.judge(ending(readAll(text, ["x"]).result, { exit: { code, signal: null } })).outcome;
    expect([exit(2), exit(1)]).toEqual(["completed", "failed"]);
    expect(text.judge(ending(readAll(text, []).result, { stopRequested: true })).outcome).toBe("stopped");
  });

  it("is refused with the place of the fault when it is wrong", () => {
    const fault = (json: unknown): string => {
      try {
        declaredDriver(json);
      } catch (error) {
        return (error as { code: string; message: string }).code + (error as Error).message;
      }
      return "accepted";
    };
    expect(fault({ ...plain, args: ["{prompt}"] })).toMatch(/^BAD_CONFIG.*aider.*\{prompt\} is no placeholder/);
    expect(fault({ ...plain, colour: "red" })).toMatch(/colour/);
    expect(fault({ program: "x" })).toMatch(/^BAD_CONFIGA declared driver is wrong.*name/);
    expect(fault({ ...plain, text: "say" })).toMatch(/text needs "json": true/);
    expect(fault({ ...plain, success: { result: { a: 1 } } })).toMatch(/success.result needs/);
    expect(fault(null)).toMatch(/^BAD_CONFIG/);
    expect(fault([])).toMatch(/^BAD_CONFIG/);
  });
});
