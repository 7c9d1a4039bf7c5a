import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { cliProgram, isInstalled } from "../support/cli/real-clis.ts";
import { lab } from "../support/lab.ts";
import { httpServer } from "../support/mcp/mcp-client.ts";
import { serveFixtures } from "../support/mcp/mcp-fixtures.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Ended, ended, type Lab, supportFile } from "../support/workspace.ts";

const TIMEOUT_MS = patient(120_000);

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
        const known =
          version === "2026-07-28" ? ["--expected-failures", supportFile("mcp/mcp-expected-failures.yml")] : [];
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

it.skipIf(!isInstalled("inspector"))(
  "the Inspector finds nothing in the tools that a client could stumble over, and uses them over stdio and HTTP",
  async () => {
    const at = lab();
    const { url, token } = await httpServer(at);
    const inspect = (...args: string[]) => start("inspector", at, ["--cli", ...args]);
    const stdio = [process.execPath, CLI, "mcp", "--workspace", at.root];
    const http = [url, "--header", `Authorization: Bearer ${token}`];
    const description = "From outside";
    const [list, call] = await Promise.all([
      inspect(...stdio, "--method", "tools/list", "--strict"),
      inspect(
        ...http,
        "--method",
        "tools/call",
        "--tool-name",
        "create_real_task",
        "--tool-arg",
        `description=${description}`,
      ),
    ]);
    expect({ code: list.code, stderr: list.stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(list.stdout).tools).toHaveLength(15);
    expect({ code: call.code, stderr: call.stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(call.stdout).structuredContent).toMatchObject({ success: true, description });
    expect(at.workspace.runs.tasks()).toMatchObject([{ description }]);
  },
  TIMEOUT_MS,
);
