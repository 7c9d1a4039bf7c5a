import { readFileSync } from "node:fs";
import { type Operation, operation, z } from "./operation.ts";

export const version: Operation = operation({
  name: "version",
  summary: "Print the version of midwatch and of its runtime",
  input: z.strictObject({}),
  changes: false,
  examples: ["midwatch version"],
  run: () => ({
    midwatch: midwatchVersion(),
    node: process.version.slice(1),
    platform: `${process.platform}-${process.arch}`,
  }),
  render: (data) => `midwatch ${data.midwatch} (Node ${data.node}, ${data.platform})`,
});

/** From the package.json that lies above this file: the depth differs between src, dist and the one-file bundle. */
export function midwatchVersion(): string {
  for (const up of ["../../package.json", "../package.json"]) {
    try {
      const { name, version: found } = JSON.parse(readFileSync(new URL(up, import.meta.url), "utf8"));
      if (name === "midwatch") return String(found);
    } catch {
      // Not at this depth.
    }
  }
  return "unknown";
}
