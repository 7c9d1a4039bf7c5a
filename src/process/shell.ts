/** A command of the user's own configuration, run by a shell; everything it prints goes to a file. */
import { spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { withoutOuterRun } from "./environment.ts";
import { childrenOf } from "./identity.ts";

export interface ShellOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** An existing file; written from its end on. */
  output: string;
  timeoutMs: number;
}

/** Undefined when it ended well, else how it ended. */
export async function runShell(command: string, options: ShellOptions): Promise<string | undefined> {
  const { cwd, env, output, timeoutMs } = options;
  const fd = openSync(output, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
  try {
    return await new Promise((resolve) => {
      // In our process group: Ctrl-C means it too.
      const child = spawn("sh", ["-c", command], { cwd, env: withoutOuterRun(env), stdio: ["ignore", fd, fd] });
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        if (child.pid !== undefined) killTree(child.pid);
      }, timeoutMs);
      child.once("error", (error) => {
        clearTimeout(timer);
        resolve(error.message);
      });
      child.once("exit", (code, signal) => {
        clearTimeout(timer);
        if (late) resolve(`not done after ${Math.round(timeoutMs / 1000)} s`);
        else resolve(code === 0 ? undefined : (signal ?? `exit ${code}`));
      });
    });
  } finally {
    closeSync(fd);
  }
}

/** A child of ours and all below it. Stopped first, from the top: what stands still starts nothing and loses no parent. */
export function killTree(root: number): void {
  const tree = [root];
  for (let i = 0; i < tree.length; i++) {
    signal(tree[i] as number, "SIGSTOP");
    tree.push(...childrenOf(tree[i] as number));
  }
  for (const pid of tree) signal(pid, "SIGKILL");
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
