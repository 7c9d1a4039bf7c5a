/**
 * In CI a test that works with real processes, disks and servers may fail once: the machine is not ours alone. That it needed a second
 * try is told with what went wrong at the first, so that it gets mended and not forgotten. Elsewhere the first failure counts.
 */
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestCase } from "vitest/node";

export const retry = process.env["CI"] ? 1 : 0;

export class SecondTries implements Reporter {
  readonly #told: string[] = [];

  onTestCaseResult(test: TestCase): void {
    const result = test.result();
    if (!test.diagnostic()?.flaky || result.state !== "passed") return;
    const faults = (result.errors ?? []).flatMap(({ message, stack, diff }) =>
      `${stack ?? message}\n${diff === undefined ? "" : stripVTControlCharacters(diff)}`.trimEnd().split("\n"),
    );
    const ours = faults.filter((line) => !line.includes("/node_modules/")).map((line) => `    ${line}`);
    this.#told.push([`  ${test.module.relativeModuleId} > ${test.fullName}`, ...ours].join("\n"));
  }

  onTestRunEnd(): void {
    if (this.#told.length > 0)
      console.log(["", `PASSED ONLY AT THE SECOND TRY: ${this.#told.length}`, ...this.#told, ""].join("\n"));
  }
}
