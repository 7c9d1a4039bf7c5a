/**
 * Lists at the end what was skipped and why, and holds a whole run (TEST_WHOLE) to the gate of test/gate/. A test that may be skipped prints
 * `SKIPPED: reason`; the reporter puts the reason beside the tests of that file. For scripts/test.mjs the counts go to the file that TEST_RESULT names.
 */
import { writeFileSync } from "node:fs";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { type Gated, gate, midwatch, told } from "../gate/gate.ts";

export class Skips implements Reporter {
  readonly #reasons = new Map<string, Set<string>>();
  readonly #gated: Gated;
  #filtered = false;

  constructor(gated = midwatch) {
    this.#gated = gated;
  }

  onInit({ config }: Vitest): void {
    this.#filtered = config.testNamePattern !== undefined;
  }

  onUserConsoleLog({ content, taskId = "" }: { content: string; taskId?: string | undefined }): void {
    const module = taskId.split("_")[0] ?? "";
    const known = this.#reasons.get(module) ?? new Set();
    for (const [, reason = ""] of content.matchAll(/^SKIPPED: (.*)$/gm)) known.add(reason);
    this.#reasons.set(module, known);
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap(({ children }) => [...children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    // A file that cannot be loaded, or an error beside the tests, is a failure too.
    const broken = modules.filter((module) => module.errors().length > 0).length + errors.length;
    const skipped = modules.flatMap((module) => this.#skipped(module));
    if (!this.#filtered && skipped.length > 0) console.log(["", "Skipped:", ...skipped, ""].join("\n"));
    const result = {
      passed: count("passed"),
      failed: count("failed") + broken,
      skipped: count("skipped"),
      list: skipped,
      gate: process.env["TEST_WHOLE"] ? this.#gate(modules) : [],
    };
    const file = process.env["TEST_RESULT"];
    if (file) writeFileSync(file, JSON.stringify(result));
  }

  /** A line for all that a person has to know of it. */
  #gate(modules: readonly TestModule[]): string[] {
    const verdicts = gate(this.#gated, modules, (module) => this.#reasonsOf(module));
    const [failed, unproven] = [told(this.#gated, verdicts, "failed"), told(this.#gated, verdicts, "unproven")];
    if (failed.length > 0) process.exitCode = 1;
    const lines = [
      ...(unproven.length > 0 ? ["UNPROVEN on this machine:", ...unproven] : []),
      ...(failed.length > 0 ? ["requirements that this run does not prove:", ...failed] : []),
    ];
    if (lines.length > 0) console.log(["", ...lines, ""].join("\n"));
    return lines;
  }

  #reasonsOf(module: TestModule): string[] {
    return [...(this.#reasons.get(module.id) ?? [])];
  }

  #skipped(module: TestModule): string[] {
    const count = [...module.children.allTests("skipped")].length;
    if (count === 0) return [];
    return [`  ${count} of ${module.relativeModuleId}: ${this.#reasonsOf(module).join("; ") || "NO REASON PRINTED"}`];
  }
}
