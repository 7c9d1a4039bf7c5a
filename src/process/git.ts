/**
 * Calling git. Argument lists only, never a shell; nothing that a repository or a caller's environment has set can run a program
 * (hooks, fsmonitor), ask a question or wait for ever. What it prints is English, so that we can tell its faults apart.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError, throwIfExhausted } from "../core/errors.ts";
import { withoutOuterRun } from "./environment.ts";

export interface GitOptions {
  env?: NodeJS.ProcessEnv | undefined;
  /** Variables of git's own, such as GIT_INDEX_FILE. */
  set?: Readonly<Record<string, string>>;
  timeoutMs?: number;
  /** Given to it as its input. */
  input?: string | Uint8Array;
  /** Settings that come before ours, so that ours win. */
  config?: readonly string[];
  /** It has a session of its own: no terminal to ask at, and it is ended with all that it started (transports, ssh). */
  apart?: boolean;
  /** Ends it. */
  signal?: AbortSignal | undefined;
}

export interface GitAnswer {
  /** Null when it was ended for taking too long. */
  code: number | null;
  stdout: string;
  stderr: string;
}

const LOOK_MS = 60_000;
const LOCK_TRIES = 40;
/** More than any list or diff that a person looks at; beyond it the answer is an error, not a full memory. */
const OUTPUT_MAX = 256 << 20;

const settings = (list: readonly string[]): string[] => list.flatMap((setting) => ["-c", setting]);

const QUIET: readonly string[] = settings([
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "core.quotePath=false",
  "advice.addEmbeddedRepo=false",
  "diff.submodule=short",
]);

/** A git that called us (a hook, an alias) has set these for its own repository. */
const OF_ANOTHER_GIT =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|CONFIG|CONFIG_PARAMETERS|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|IMPLICIT_WORK_TREE|INTERNAL_.*|EXTERNAL_DIFF|TRACE.*)$/;

/** Another git has a lock that it will give back in moments, or is in the middle of making a worktree, whose files it writes without one. */
const LOCKED =
  /\.lock['"]?: File exists|Unable to create '.*\.lock'|could not lock config file|unable to lock|failed to read .*worktrees\/.*\/(?:commondir|HEAD|gitdir)/i;

/** One call, whatever it answers. Tried again while another git holds a lock. */
export async function git(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const { code, stdout, stderr } = await gitBytes(folder, args, options);
  return { code, stdout: stdout.toString(), stderr };
}

/** The same for an answer that is not text. */
export async function gitBytes(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<Omit<GitAnswer, "stdout"> & { stdout: Buffer }> {
  for (let attempt = 1; ; attempt++) {
    const answer = await once(folder, args, options);
    if (answer.code === 0 || answer.code === null || !LOCKED.test(answer.stderr) || attempt === LOCK_TRIES)
      return answer;
    await sleep(Math.min(10 * attempt, 250) * (0.5 + Math.random()));
  }
}

/** Its output without the last newline; GIT_FAILED with what it said when it fails. */
export async function gitText(folder: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await git(folder, args, options);
  if (code === 0) return stdout.replace(/\n$/, "");
  const said = stderr.trim().split("\n").slice(-3).join(" ") || "it said nothing";
  throw new MidwatchError(
    "GIT_FAILED",
    `git ${args[0]} failed in ${folder}: ${code === null ? "no end in time" : said}`,
    {
      hint: `Try it by hand: git -C ${folder} ${args[0]}`,
    },
  );
}

function once(
  folder: string,
  args: readonly string[],
  options: GitOptions,
): Promise<Omit<GitAnswer, "stdout"> & { stdout: Buffer }> {
  const { env = process.env, set = {}, timeoutMs = LOOK_MS, input, config = [], apart = false, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn("git", ["--no-pager", "-C", folder, ...settings(config), ...QUIET, ...args], {
      env: { ...environment(env), ...set },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      detached: apart,
    });
    const end = (): void => kill(child, apart);
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
    const parts: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
    let bytes = 0;
    const gather = (to: Buffer[]) => (part: Buffer) => {
      bytes += part.length;
      if (bytes > OUTPUT_MAX) end();
      else to.push(part);
    };
    child.stdout?.on("data", gather(parts.stdout));
    child.stderr?.on("data", gather(parts.stderr));
    child.stdin?.on("error", () => undefined); // It ended without reading: its code says why.
    child.stdin?.end(input);
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    };
    child.once("error", (error) => {
      over();
      reject(asError(error));
    });
    child.once("close", (code) => {
      over();
      resolve({ code, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr).toString() });
    });
  });
}

/** A child of ours that has not been waited for yet, so its pid, and the group that it leads, are its own. */
function kill(child: ChildProcess, group: boolean): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(group ? -child.pid : child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(withoutOuterRun(env)).filter(([name]) => !OF_ANOTHER_GIT.test(name));
  return { ...Object.fromEntries(own), GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" };
}

function asError(error: Error): unknown {
  try {
    throwIfExhausted(error);
  } catch (exhausted) {
    return exhausted;
  }
  return new MidwatchError("COMMAND_NOT_FOUND", "git could not be started.", {
    hint: "Install git: --worktree and `midwatch sync` need it.",
    cause: error,
  });
}
