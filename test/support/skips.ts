/**
 * Lists at the end what was skipped and why. A test that may be skipped prints `SKIPPED: reason`; the reporter puts the reason beside the
 * tests of that file. For scripts/test.mjs the counts go to the file that TEST_RESULT names.
 */
import { writeFileSync } from "node:fs";
import type { Reporter, TestModule, Vitest } from "vitest/node";

export class Skips implements Reporter {
  readonly #reasons = new Map<string, Set<string>>();
  #filtered = false;

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
    };
    const file = process.env["TEST_RESULT"];
    if (file) writeFileSync(file, JSON.stringify(result));
  }

  #skipped(module: TestModule): string[] {
    const count = [...module.children.allTests("skipped")].length;
    const reasons = [...(this.#reasons.get(module.id) ?? [])];
    if (count === 0) return [];
    return [`  ${count} of ${module.relativeModuleId}: ${reasons.join("; ") || "NO REASON PRINTED"}`];
  }
}
