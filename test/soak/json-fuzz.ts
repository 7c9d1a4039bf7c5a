/** The kernel's JSON validator against JSON.parse on mutated lines. */
import { KernelScanner } from "../../src/log/scanner.ts";
import { fuzzJson } from "../support/data/json-fuzz.ts";
import { campaign, type Report } from "./report.ts";

export function jsonFuzz(count: number, seed = 1): Promise<Report> {
  return campaign("JSON validator against JSON.parse", count, seed, async (fail, figures) => {
    const scanner = KernelScanner.make(1 << 20);
    if (scanner === undefined) return fail("there is no kernel: npm run build");
    const { differences, ...seen } = fuzzJson(scanner, count, seed);
    for (const difference of differences) fail(String(difference));
    Object.assign(figures, seen);
  });
}
