import { type ChildProcess, spawn } from "node:child_process";

/** The words that start this program once more. */
export function selfCommand(args: readonly string[]): [string, ...string[]] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? "", ...args];
}

/** Starts this program once more, as another caller of the same workspace would. */
export function startSelf(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const [program, ...rest] = selfCommand(args);
  return spawn(program, rest, { env, stdio: ["ignore", "pipe", "ignore"] });
}
