/** What the last whole run in this clone proved, for `npm run docs`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./citations.ts";
import type { Verdict } from "./judge.ts";

const fileIn = (root: string): string => join(root, "node_modules", ".cache", "midwatch", "proven.json");

export function keepLastRun(root: string, verdicts: ReadonlyMap<string, Verdict>): void {
  const file = fileIn(root);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify([...verdicts]));
}

export function lastRun(): Map<string, Verdict> | undefined {
  const file = fileIn(ROOT);
  return existsSync(file) ? new Map(JSON.parse(readFileSync(file, "utf8")) as [string, Verdict][]) : undefined;
}
