import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lab } from "../support/lab.ts";
import { httpServer } from "../support/mcp-client.ts";
import { serveFixtures } from "../support/mcp-fixtures.ts";
import { cliProgram, isInstalled } from "../support/real-clis.ts";
import { CLI, type Ended, ended, type Lab, supportFile } from "../support/workspace.ts";

const TIMEOUT_MS = 120_000;

function start(program: "conformance" | "inspector", at: Lab, args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [cliProgram(program), ...args], {
    cwd: at.folder,
    env: { ...process.env, HOME: at.folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return ended(child);
}

describe.skipIf(!isInstalled("conformance"))(
  "the official conformance suite, against fixtures served by our code",
  () => {
    // How many checks have to pass: fewer would mean that the suite ran without some of them.
    it.each([
      ["2025-06-18", 56],
      ["2025-11-25", 81],
      ["2026-07-28", 130],
    ])(
      "%s: every scenario that applies passes, %i checks",
      async (version, checks) => {
        const at = lab();
        const { url, close } = await serveFixtures(at);
        onTestFinished(close);
        const known = version === "2026-07-28" ? ["--expected-failures", supportFile("mcp-expected-failures.yml")] : [];
        const options = ["--suite", "all", "--spec-version", version, "-o", join(at.folder, "results"), ...known];
        const { code, stdout, stderr } = await start("conformance", at, ["server", "--url", url, ...options]);
        const summary = stdout.slice(stdout.indexOf("=== SUMMARY"));
        expect({ code, summary: code === 0 ? "" : summary + stderr }).toEqual({ code: 0, summary: "" });
        expect(Number(/Total: (\d+) passed/.exec(summary)?.[1])).toBeGreaterThanOrEqual(checks);
      },
      TIMEOUT_MS,
    );
  },
);

describe.skipIf(!isInstalled("inspector"))("the Inspector", () => {
  it.each(["stdio", "http"] as const)(
    "finds nothing in the tools that a client could stumble over, and calls one, over %s",
    async (way) => {
      const at = lab();
      const { url, token } = await httpServer(at);
      const target =
        way === "stdio"
          ? [process.execPath, CLI, "mcp", "--workspace", at.root]
          : [url, "--header", `Authorization: Bearer ${token}`];
      const inspect = (...args: string[]) => start("inspector", at, ["--cli", ...target, ...args]);
      const [list, call, read] = await Promise.all([
        inspect("--method", "tools/list", "--strict"),
        inspect("--method", "tools/call", "--tool-name", "create_real_task", "--tool-arg", "description=From outside"),
        inspect("--method", "resources/read", "--uri", "tasks://list"),
      ]);
      expect({ code: list.code, stderr: list.stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(list.stdout).tools).toHaveLength(15);
      expect(call.code).toBe(0);
      expect(JSON.parse(call.stdout).structuredContent).toMatchObject({ success: true, description: "From outside" });
      expect(at.workspace.tasks()).toMatchObject([{ description: "From outside" }]);
      expect({ code: read.code, stderr: read.stderr }).toMatchObject({ code: 0 });
    },
    TIMEOUT_MS,
  );
});
