/** A program of the user's own configuration that is given a text as its input. Argument list only, never a shell. */
import { spawn } from "node:child_process";
import { withoutOuterRun } from "./environment.ts";
import { killTree } from "./shell.ts";

export interface FeedOptions {
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Undefined when it ended well, else how it ended. What it prints is not looked at. */
export function feed(
  [program, ...args]: readonly [string, ...string[]],
  input: string,
  { cwd, env, timeoutMs, signal }: FeedOptions,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve("told to end");
    const child = spawn(program, args, { cwd, env: withoutOuterRun(env), stdio: ["pipe", "ignore", "ignore"] });
    let why: string | undefined;
    const end = (reason: string) => (): void => {
      why ??= reason;
      if (child.pid !== undefined) killTree(child.pid);
    };
    const timer = setTimeout(end(`not done after ${timeoutMs / 1000} s`), timeoutMs);
    const abort = end("told to end");
    signal.addEventListener("abort", abort, { once: true });
    const done = (how: string | undefined): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      resolve(how);
    };
    child.stdin.on("error", () => undefined); // It ended without reading: its code says the rest.
    child.stdin.end(input);
    child.once("error", ({ message }) => done(message));
    child.once("exit", (code, by) => done(why ?? (code === 0 ? undefined : (by ?? `exit ${code}`))));
  });
}
