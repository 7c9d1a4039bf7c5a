import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

function midwatch(file: string, ...args: string[]) {
  const child = spawn(process.execPath, [at(file), ...args], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.on("data", (data) => {
    stderr += data;
  });
  return { child, closed: once(child, "close"), stderr: () => stderr };
}

describe("the command as a process", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("ends at once on %s with %d", async (signal, code) => {
    const { child, closed, stderr } = midwatch("../support/endless-cli.ts", "endless");
    await once(child.stdout, "data");
    child.stdout.resume();
    child.kill(signal);
    expect(await closed).toEqual([code, null]);
    expect(stderr()).toBe("");
  });

  it("ends quietly when the reader of its output has gone", async () => {
    const { child, closed, stderr } = midwatch("../support/endless-cli.ts", "endless");
    await once(child.stdout, "data");
    child.stdout.destroy();
    expect([await closed, stderr()]).toEqual([[0, null], ""]);
  });

  it("exits with the code of the error", async () => {
    const { child, closed, stderr } = midwatch("../../src/doors/cli/main.ts", "nothing-like-this");
    child.stdout.resume();
    expect((await closed)[0]).toBe(2);
    expect(stderr()).toContain("[USAGE]");
  });
});
