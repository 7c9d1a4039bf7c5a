import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { patient } from "./test/support/patience.ts";
import { Skips } from "./test/support/skips.ts";

// Tests start many processes from the sources: what V8 made of them is kept.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "midwatch", "compiled");

// What tests trust is recorded apart from what people do; test/support/build.ts removes it.
process.env["XDG_STATE_HOME"] = join(tmpdir(), `midwatch-state-${process.pid}`);

// Tests say when they want a companion (test/integration/companion.test.ts): it would take the turns of the queue that others wait for.
process.env["MIDWATCH_COMPANION"] ??= "off";

const shared = {
  setupFiles: ["test/support/warnings.ts"],
  testTimeout: patient(120_000),
  hookTimeout: patient(60_000),
  expect: { poll: { timeout: patient(5000) } },
};
/** Others must not load the machine while these measure time, memory or a disk, or take away what all need. */
const ALONE = [
  "cycles",
  "disk",
  "full-disk",
  "journal-full",
  "leader",
  "leader-disk",
  "many-processes",
  "out-of-memory",
  "out-of-resources",
  "pid-reuse",
  "power-cut",
  "take-over",
  "uninterruptible",
  "watch-memory",
].map((name) => `test/fault/${name}.test.ts`);

export default defineConfig({
  test: {
    passWithNoTests: true,
    reporters: ["default", new Skips()],
    // Most tests wait for processes and disks: three at once also on a machine with two cores.
    maxWorkers: 3,
    globalSetup: ["test/support/build.ts"],
    projects: [
      {
        test: { ...shared, name: "unit", include: ["src/**/*.test.ts", "web/src/**/*.test.ts"] },
      },
      {
        test: {
          ...shared,
          name: "integration",
          include: ["test/*.test.ts", "test/{gate,seeds,integration}/**/*.test.ts"],
        },
      },
      { test: { ...shared, name: "attack", include: ["test/attack/**/*.test.ts"] } },
      { test: { ...shared, name: "install", include: ["test/install/**/*.test.ts"] } },
      { test: { ...shared, name: "contract", include: ["test/contract/**/*.test.ts"] } },
      {
        test: {
          ...shared,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          // A browser at a time is enough for two cores.
          fileParallelism: false,
        },
      },
      {
        test: {
          ...shared,
          name: "fault",
          include: ["test/fault/**/*.test.ts"],
          exclude: ALONE,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: "fault-alone",
          include: ALONE,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
