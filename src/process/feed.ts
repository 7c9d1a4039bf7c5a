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

interface Answered {
  /** How it ended; undefined when that was well. */
  how: string | undefined;
  /** What it printed, when that was wanted. */
  said: string;
}

/** Undefined when it ended well, else how it ended. What it prints is not looked at. */
export async function feed(
  words: readonly [string, ...string[]],
  input: string,
  options: FeedOptions,
): Promise<string | undefined> {
  return (await run(words, input, options, 0)).how;
}

/** What it prints on stdout; one that prints more than `mostBytes` is ended. */
export function consult(
  words: readonly [string, ...string[]],
  input: string,
  options: FeedOptions & { mostBytes: number },
): Promise<Answered> {
  return run(words, input, options, options.mostBytes);
}

function run(
  [program, ...args]: readonly [string, ...string[]],
  input: string,
  { cwd, env, timeoutMs, signal }: FeedOptions,
  mostBytes: number,
): Promise<Answered> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ how: "told to end", said: "" });
    const out = mostBytes > 0 ? "pipe" : "ignore";
    const child = spawn(program, args, { cwd, env: withoutOuterRun(env), stdio: ["pipe", out, "ignore"] });
    const parts: Buffer[] = [];
    let left = mostBytes;
    let why: string | undefined;
    const end = (reason: string) => (): void => {
      why ??= reason;
      if (child.pid !== undefined) killTree(child.pid);
      // What it started may have left its tree and hold the pipe.
      child.stdout?.destroy();
    };
    const timer = setTimeout(end(`not done after ${timeoutMs / 1000} s`), timeoutMs);
    const abort = end("told to end");
    signal.addEventListener("abort", abort, { once: true });
    const done = (how: string | undefined): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      resolve({ how, said: Buffer.concat(parts).toString() });
    };
    child.stdout?.on("data", (part: Buffer) => {
      left -= part.length;
      if (left < 0) end("it prints too much")();
      else parts.push(part);
    });
    child.stdin?.on("error", () => undefined); // It ended without reading: its code says the rest.
    child.stdin?.end(input);
    child.once("error", ({ message }) => done(message));
    child.once(mostBytes > 0 ? "close" : "exit", (code: number | null, by: NodeJS.Signals | null) =>
      done(why ?? (code === 0 ? undefined : (by ?? `exit ${code}`))),
    );
  });
}
