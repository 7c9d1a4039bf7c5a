import { defineConfig } from "vitest/config";
import { retry, SecondTries } from "./test/support/second-tries.ts";

const shared = { setupFiles: ["test/support/warnings.ts"] };

/** What leans on more than this process. */
const real = { ...shared, retry };

const fault = { include: ["test/fault/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 };
/** Others must not load the machine while these measure time, memory or a disk, or take away what all need. */
const ALONE = [
  "clock",
  "cycles",
  "database",
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
    reporters: ["default", new SecondTries()],
    // Most tests wait for processes and disks: three at once also on a machine with two cores.
    maxWorkers: 3,
    globalSetup: ["test/support/keeper.ts"],
    projects: [
      {
        test: { ...shared, name: "unit", include: ["src/**/*.test.ts", "web/src/**/*.test.ts"], testTimeout: 90_000 },
      },
      {
        test: {
          ...real,
          name: "integration",
          include: ["test/*.test.ts", "test/integration/**/*.test.ts"],
          testTimeout: 90_000,
        },
      },
      { test: { ...real, name: "contract", include: ["test/contract/**/*.test.ts"], testTimeout: 90_000 } },
      {
        test: {
          ...real,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 90_000,
          // A browser at a time is enough for two cores.
          fileParallelism: false,
        },
      },
      { test: { ...real, ...fault, name: "fault", exclude: ALONE, sequence: { groupOrder: 1 } } },
      {
        test: {
          ...real,
          ...fault,
          name: "fault-alone",
          include: ALONE,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
