import { type ChildProcess, spawn } from "node:child_process";

/** Starts this program once more, as another caller of the same workspace would. */
export function startSelf(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", ...args], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
}
