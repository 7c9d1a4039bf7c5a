import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ending, request } from "../../test/support/cli/driver.ts";
import { declaredDriver } from "./declared.ts";
import { DRIVERS, driverNamed, readVersion } from "./index.ts";
import { pathsOf } from "./paths.ts";

const WORDS = [
  "type",
  "subtype",
  "message",
  "content",
  "usage",
  "part",
  "item",
  "error",
  "result",
  "stats",
  "tokens",
  "state",
];
const TYPES = [
  "system",
  "assistant",
  "user",
  "result",
  "init",
  "api_retry",
  "tool_use",
  "tool_result",
  "text",
  "step_finish",
  "error",
].concat([
  "item.completed",
  "turn.completed",
  "turn.failed",
  "message",
  "rate_limit_event",
  "control_request",
  "file_change",
  "command_execution",
]);

/** JSON that looks like a stream's more often than chance would have it. */
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(...TYPES),
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...WORDS), fc.string()), tie("any"), { maxKeys: 6 }),
  ),
})).any;

describe("every driver", () => {
  it.each(DRIVERS.map((driver) => [driver.name, driver] as const))(
    "%s survives any line and judges any end",
    (_, driver) => {
      const exit = fc.record({
        code: fc.option(fc.nat(255)),
        signal: fc.option(fc.constantFrom("SIGTERM", "SIGKILL")),
      });
      fc.assert(
        fc.property(
          fc.array(fc.oneof(value, fc.string()), { maxLength: 8 }),
          exit,
          fc.boolean(),
          (lines, end, stopRequested) => {
            const reader = driver.reader();
            for (const line of lines)
              for (const activity of reader.read(line, 1e12)) expect(activity.kind).toBeTypeOf("string");
            const { outcome, reason } = driver.judge(ending(reader.result(), { exit: end, stopRequested }));
            expect((outcome === "completed") === (reason === null)).toBe(true);
            if (driver.json && reader.result().finished === null) expect(outcome).not.toBe("completed");
          },
        ),
        { numRuns: 300 },
      );
    },
  );

  it("keeps prompt and bearer out of argv", () => {
    for (const driver of DRIVERS) {
      const mcp = driver.mcp ? [{ name: "m", at: { url: "http://127.0.0.1/", bearer: "bearer-x" } }] : [];
      const args = driver.program === null ? ["make"] : [];
      const { argv, stdin } = driver.launch(request({ prompt: "prompt-x", mcp, args }));
      expect(argv.join(" ")).not.toMatch(/prompt-x|bearer-x/);
      expect(stdin).toContain("prompt-x");
      expect(argv[0]).toBe(driver.program ?? "make");
    }
  });
});

describe("a session to resume", () => {
  it("cannot be an option, whatever an agent wrote into its stream", () => {
    const own = declaredDriver({ name: "own", program: "own", args: [["--resume", "{resume}"]] });
    for (const driver of [...DRIVERS, own].filter(({ program }) => program !== null)) {
      for (const resume of ["--dangerously-skip-permissions", "", "a b", "../x"]) {
        expect(() => driver.launch(request({ resume })), driver.name).toThrow(/cannot be a session/);
      }
      expect(driver.launch(request({ resume: "ses_A1-b" })).session).toBe("ses_A1-b");
    }
  });
});

describe("driverNamed", () => {
  it("finds a driver", () => {
    expect(driverNamed("codex").name).toBe("codex");
  });

  it("names the nearest when there is none", () => {
    expect(() => driverNamed("cluade")).toThrow(/no driver "cluade"/);
    const hint = (name: string): unknown => {
      try {
        return driverNamed(name);
      } catch (error) {
        return (error as { hint: string }).hint;
      }
    };
    expect(hint("cluade")).toBe(`Did you mean claude? There are ${DRIVERS.map(({ name }) => name).join(", ")}.`);
    expect(hint("constructor")).toMatch(/^There are claude/);
  });
});

describe("readVersion", () => {
  it.each([
    ["claude", "2.1.325 (Claude Code)", { version: "2.1.325", known: true }],
    ["claude", "2.10.1 (Claude Code)", { version: "2.10.1", known: false }],
    ["codex", "WARNING: no aliases\ncodex-cli 0.166.0\n", { version: "0.166.0", known: true }],
    ["gemini", "v0.61.0-nightly.1", { version: "0.61.0-nightly.1", known: true }],
    ["opencode", "1.19.0", { version: "1.19.0", known: false }],
    ["opencode", "command not found", { version: null, known: false }],
  ])("%s: %s", (name, output, report) => {
    expect(readVersion(driverNamed(name), output)).toEqual(report);
  });
});

describe("pathsOf", () => {
  it("finds files under each tool's word for them", () => {
    expect(
      pathsOf({ file_path: "a", path: "b", edits: [{ filePath: "c" }], changes: [{ path: "d" }], files: ["e", "a"] }),
    ).toEqual(["a", "b", "e", "d", "c"]);
    expect(pathsOf({ patchText: "*** Begin Patch\n*** Update File: src/x.ts\n@@\n*** Add File: y.ts\n" })).toEqual([
      "src/x.ts",
      "y.ts",
    ]);
    expect([pathsOf(null), pathsOf("x"), pathsOf([1]), pathsOf({ path: 3 })]).toEqual([[], [], [], []]);
  });
});
