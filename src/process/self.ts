import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where the command line is, seen from this file: in the sources, in dist, in the one-file bundle. */
const ENTRIES = ["../doors/cli/midwatch.ts", "../midwatch.js", "./midwatch.js"];

/** The words that run `midwatch ARGS`, also when this process is another program that uses the library. */
export function midwatchWords(args: readonly string[]): [string, ...string[]] {
  return installedWords(args) ?? [process.execPath, process.argv[1] ?? "", ...args];
}

/** The same; undefined where only a part of midwatch is there, in the bundle of another program, which must not be started in its place. */
export function installedWords(args: readonly string[]): [string, ...string[]] | undefined {
  const found = ENTRIES.map((entry) => fileURLToPath(new URL(entry, import.meta.url))).find((path) => existsSync(path));
  return found === undefined ? undefined : [process.execPath, found, ...args];
}

/** Starts the words in a session of their own; nobody here waits for them. */
export function startApart([program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): void {
  const child = spawn(program, args, { cwd: "/", detached: true, env, stdio: "ignore" });
  child.once("error", () => undefined); // Out of resources: the keepers of its runs try again.
  child.unref();
}

/** The words that start this program once more. */
export function selfCommand(args: readonly string[]): [string, ...string[]] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? "", ...args];
}

/** Starts this program once more, as another caller of the same workspace would. */
export function startSelf(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const [program, ...rest] = selfCommand(args);
  return spawn(program, rest, { env, stdio: ["ignore", "pipe", "ignore"] });
}
