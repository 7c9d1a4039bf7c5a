import { describe, expect, it } from "vitest";
import { inputText } from "./input-text.ts";
import { type Step, Steps } from "./steps.ts";

/** One call with its result, by a new reader or by one that has seen others. */
function step(input: unknown, text: string, { ok = true, name = "Bash", steps = new Steps() } = {}): Step {
  steps.use({ kind: "tool", id: "1", name, input, paths: [] }, 1);
  const made = steps.result({ kind: "tool_result", id: "1", ok, text }, 2);
  if (made === null) throw new Error("the result was not joined");
  return made;
}

describe("a step", () => {
  it("is the same call whatever the order of its keys, quoted numbers and empty fields", () => {
    const one = inputText({ path: "a.ts", line: 3, note: "", more: [] });
    expect(inputText('{"line": "3", "path": "a.ts"}')).toBe(one);
    expect(inputText({ path: "b.ts", line: 3 })).not.toBe(one);
    expect(inputText("{ not json")).toBe("{ not json");
  });

  it("has the same result when only numbers, hashes and temporary names differ", () => {
    const steps = new Steps();
    const first = step("make", "built 0x7ffe in 3.2 s at /tmp/x1/out\ncommit 4f2a9bc", { steps });
    const second = step("make", "built 0x81aa in 4.0 s at /tmp/y2/out\ncommit 99ab01f", { steps });
    expect([first.result === second.result, second.again, second.fresh]).toEqual([true, 1, 0]);
    expect(step("make", "linked 1", { steps })).toMatchObject({ changed: true, again: 0, fresh: 1 });
  });

  it("fails by the CLI's word or by an answer that is an error, not by a file that speaks of errors", () => {
    expect(step("x", "no luck", { ok: false })).toMatchObject({ failed: true, errorText: "no luck" });
    expect(step("x", "bash: line 7: javac: command not found").errorText).toBe(
      "bash: line 7: javac: command not found",
    );
    expect(step("x", "12 passed, 0 failed, no errors").failed).toBe(false);
    const file = ["import a", "export b", "c", "d", "throw new Error('cannot read')"].join("\n");
    expect(step("cat a.ts", file).failed).toBe(false);
  });

  it("writes when it changes something anew; looking and finding nothing is no change", () => {
    const steps = new Steps();
    expect(step({ command: "sed -i s/a/b/ x" }, "", { steps }).wrote).toBe(true);
    expect(step({ command: "sed -i s/a/b/ x" }, "", { steps }).wrote).toBe(false);
    expect(step("tmux send-keys q", "").wrote).toBe(true);
    expect(step("find / -name java 2>/dev/null", "").wrote).toBe(false);
    expect(step({ file_path: "a" }, "No such file", { name: "Edit" }).wrote).toBe(false);
  });

  it("joins results by id, by order without one, and takes none that nobody asked for", () => {
    const steps = new Steps();
    const call = (id: string | null, input: string): void => {
      steps.use({ kind: "tool", id, name: "Read", input, paths: [] }, 1);
    };
    const result = (id: string | null): string | undefined =>
      steps.result({ kind: "tool_result", id, ok: true, text: "" }, 2)?.text;
    call("a", "one");
    call("b", "two");
    expect([result("b"), result("c"), result("a"), result("a")]).toEqual([
      "Read two",
      undefined,
      "Read one",
      undefined,
    ]);
    call(null, "three");
    call(null, "four");
    expect([result(null), result(null), result(null), steps.pending]).toEqual([
      "Read three",
      "Read four",
      undefined,
      0,
    ]);
  });
});
