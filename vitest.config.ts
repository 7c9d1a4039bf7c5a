import { defineConfig } from "vitest/config";

const shared = { setupFiles: ["test/support/warnings.ts"] };

export default defineConfig({
  test: {
    passWithNoTests: true,
    // Most tests wait for processes and disks: two at once also on a machine with two cores.
    maxWorkers: 2,
    globalSetup: ["test/support/keeper.ts"],
    projects: [
      {
        test: { ...shared, name: "unit", include: ["src/**/*.test.ts", "web/src/**/*.test.ts"], testTimeout: 90_000 },
      },
      {
        test: {
          ...shared,
          name: "integration",
          include: ["test/*.test.ts", "test/integration/**/*.test.ts"],
          testTimeout: 90_000,
        },
      },
      { test: { ...shared, name: "contract", include: ["test/contract/**/*.test.ts"], testTimeout: 90_000 } },
      {
        test: {
          ...shared,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 90_000,
          // A browser at a time is enough for two cores.
          fileParallelism: false,
        },
      },
      {
        test: {
          ...shared,
          name: "fault",
          include: ["test/fault/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          // Alone: the others must not load the machine while time and disk are being measured.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
