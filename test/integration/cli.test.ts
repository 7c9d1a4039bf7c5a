import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readlinkSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder } from "../support/folder.ts";
import { until, workspaceIn } from "../support/run.ts";
import { CLI, supportFile } from "../support/workspace.ts";

/** What a process has open. */
const filesOf = (pid: number | undefined): string[] =>
  globSync(`/proc/${pid}/fd/*`).flatMap((path) => {
    try {
      return [readlinkSync(path)];
    } catch {
      return [];
    }
  });

function midwatch(file: string, ...args: string[]) {
  const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.on("data", (data) => {
    stderr += data;
  });
  return { child, closed: once(child, "close"), stderr: () => stderr };
}

describe("the command as a process", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("ends at once on %s, as a shell expects it", async (signal) => {
    const { child, closed, stderr } = midwatch(supportFile("cli/endless-cli.ts"), "endless");
    await once(child.stdout, "data");
    child.stdout.resume();
    child.kill(signal);
    expect(await closed).toEqual([null, signal]);
    expect(stderr()).toBe("");
  });

  it("Ctrl-C of a wait leaves the agent alone", async () => {
    const workspace = workspaceIn(folder());
    const { agent } = await workspace.runs.start({ argv: ["sleep", "30"] });
    const waiting = midwatch(CLI, "wait", "--workspace", workspace.root, agent);
    await until(() => filesOf(waiting.child.pid).some((path) => path.startsWith(workspace.root)));
    waiting.child.kill("SIGINT");
    await waiting.closed;
    expect((await workspace.runs.show(agent)).phase).toBe("running");
  });

  it("ends quietly when the reader of its output has gone", async () => {
    const { child, closed, stderr } = midwatch(supportFile("cli/endless-cli.ts"), "endless");
    await once(child.stdout, "data");
    child.stdout.destroy();
    expect([await closed, stderr()]).toEqual([[0, null], ""]);
  });

  it("exits with the code of the error", async () => {
    const { child, closed, stderr } = midwatch(CLI, "nothing-like-this");
    child.stdout.resume();
    expect((await closed)[0]).toBe(2);
    expect(stderr()).toContain("[USAGE]");
  });
});
