import { execFileSync, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { workspaceIn } from "../support/run.ts";
import { CLI } from "../support/workspace.ts";

const has = (shell: string): boolean => spawnSync(shell, ["--version"]).error === undefined;

async function scriptFor(shell: string): Promise<string> {
  const { stdout } = await midwatch(folder(), ["completion", shell]);
  const file = join(folder(), `midwatch.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

describe("shell completion", () => {
  it("Tab in bash completes a command, a flag and an agent's id", async () => {
    const project = folder();
    const workspace = workspaceIn(project);
    const { agent } = await workspace.runs.start({ argv: ["true"], name: "builder" });
    const file = await scriptFor("bash");
    // Completing asks the real program; what is then run is only told.
    const setup = `midwatch() { if [ "$1" = __complete ]; then '${process.execPath}' '${CLI}' "$@"; else echo "[ran" "$@]"; fi; }; source '${file}'; cd '${project}'; echo [ready]`;
    const shell = spawn("script", ["-qefc", "bash --norc --noprofile -i", "/dev/null"], {
      stdio: ["pipe", "pipe", "ignore"],
      env: { ...process.env, TERM: "dumb", INPUTRC: "/dev/null" },
    });
    onTestFinished(() => void shell.kill("SIGKILL"));
    let seen = "";
    shell.stdout.on("data", (data) => {
      seen += data;
    });
    const type = async (keys: string, until: string): Promise<void> => {
      shell.stdin.write(keys);
      await expect.poll(() => seen, { timeout: patient(20_000) }).toContain(until);
    };
    await type(`${setup}\n`, "\n[ready]");
    await type("midwatch sto\t--gr\t", "midwatch stop --grace ");
    await type("1s buil\t", `1s ${agent} `);
    await type("\n", `[ran stop --grace 1s ${agent}]`);
    await type("exit\n", "exit");
  });

  it.for(["bash", "zsh", "fish"])("the script for %s is one that the shell can read", async (shell, { skip }) => {
    if (!has(shell)) {
      console.warn(`SKIPPED: the completion for ${shell}: it is not installed.`);
      return skip();
    }
    execFileSync(shell, ["-n", await scriptFor(shell)], { timeout: patient(10_000) });
  });
});
