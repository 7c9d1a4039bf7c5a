/**
 * Calling git. Argument lists only, never a shell; nothing that a repository or a caller's environment has set can run a program
 * (hooks, fsmonitor, filters, signing, a fetch of what is missing), ask a question or wait for ever. A filter that the user's own or the
 * system's configuration defines, such as that of LFS, runs. What git prints is English, so that we can tell its faults apart.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
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
  /** It talks to a remote; else it may not, whatever the repository says is missing and could be had there. */
  network?: boolean;
  /** The folder is a git folder, not one that is checked out: git takes such a one only by name, and not because it happens to be in it. */
  bare?: boolean;
  /** The checked out folder that it is about, when that is another one. */
  about?: string;
  /** Settings that come before ours, so that ours win. */
  config?: readonly string[];
  /** It has a session of its own: no terminal to ask at, and it is ended with all that it started (transports, ssh). */
  apart?: boolean;
  /** Ends it. */
  signal?: AbortSignal | undefined;
  /** Sees the pack that is fetched before git unpacks it; git is ended with the reason that this gives. */
  onPack?: (pack: AsyncIterable<Buffer>) => Promise<string | undefined>;
}

export interface GitAnswer {
  /** Null when it was ended for taking too long. */
  code: number | null;
  stdout: string;
  stderr: string;
  /** What `onPack` had against the pack. */
  refused?: string | undefined;
}

type Bytes = Omit<GitAnswer, "stdout"> & { stdout: Buffer };

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
  "diff.ignoreSubmodules=dirty",
  "submodule.recurse=false",
  "commit.gpgSign=false",
  "log.showSignature=false",
  "protocol.ext.allow=never",
  "safe.bareRepository=explicit",
]);

/** What reads or writes checked out files, and so runs filters. The merge drivers and text converters of a repository are run by nothing that we ask for. */
const FILTERING = ["status", "add", "commit", "worktree"];

/** A git that called us (a hook, an alias) has set these for its own repository. */
const OF_ANOTHER_GIT =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|CONFIG|CONFIG_PARAMETERS|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|NO_REPLACE_OBJECTS|IMPLICIT_WORK_TREE|INTERNAL_.*|EXTERNAL_DIFF|TRACE.*)$/;

/** Another git has a lock that it will give back in moments, or is in the middle of making a worktree, whose files it writes without one. */
const LOCKED =
  /\.lock['"]?: File exists|Unable to create '.*\.lock'|could not lock config file|unable to lock|failed to read .*worktrees\/.*\/(?:commondir|HEAD|gitdir)/i;

/** One call, whatever it answers. Tried again while another git holds a lock. */
export async function git(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  const answer = await gitBytes(folder, args, options);
  return { ...answer, stdout: answer.stdout.toString() };
}

/** The same for an answer that is not text. */
export async function gitBytes(folder: string, args: readonly string[], options: GitOptions = {}): Promise<Bytes> {
  const filters = FILTERING.includes(args[0] ?? "") ? await filtersOf(folder, options) : undefined;
  if (filters && "code" in filters) return filters;
  const set = { ...(filters && without(filters, options.env ?? process.env)), ...options.set };
  for (let attempt = 1; ; attempt++) {
    const answer = await once(folder, args, { ...options, set });
    if (answer.code === 0 || answer.code === null || !LOCKED.test(answer.stderr) || attempt === LOCK_TRIES)
      return answer;
    await sleep(Math.min(10 * attempt, 250) * (0.5 + Math.random()));
  }
}

/** What the repository's own configuration defines for filters, and what the user's or the system's has under the same name. */
async function filtersOf(folder: string, { env, about, bare = false }: GitOptions): Promise<Filters | Bytes> {
  const args = ["config", "-z", "--show-scope", "--get-regexp", "^filter\\."];
  const answer = await once(about ?? folder, args, { env, bare: bare && about === undefined });
  if (answer.code !== 0 && answer.code !== 1) return answer;
  const words = answer.stdout.toString().split("\0");
  const filters: Filters = { own: new Set(), values: new Map() };
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [key = "", ...lines] = (words[i + 1] as string).split("\n");
    if (words[i] === "local" || words[i] === "worktree") filters.own.add(key);
    else filters.values.set(key, lines.join("\n"));
  }
  return filters;
}

interface Filters {
  own: Set<string>;
  values: Map<string, string>;
}

/** Filters that nobody but the repository defines: they do not run when we call git. */
export async function ownFilters(folder: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const found = await filtersOf(folder, { env });
  if ("code" in found) throw failed(folder, "config", found);
  const only = [...found.own].filter((key) => !found.values.has(key));
  return [...new Set(only.map((key) => key.slice(0, key.lastIndexOf("."))))];
}

/** Variables that put the user's in the place of the repository's, or nothing. Not by `-c`: there a name with an equals sign would escape. */
function without({ own, values }: Filters, env: NodeJS.ProcessEnv): Record<string, string> {
  const first = Number(env["GIT_CONFIG_COUNT"]) || 0;
  const set: Record<string, string> = own.size === 0 ? {} : { GIT_CONFIG_COUNT: String(first + own.size) };
  for (const [i, key] of [...own].entries()) {
    set[`GIT_CONFIG_KEY_${first + i}`] = key;
    set[`GIT_CONFIG_VALUE_${first + i}`] = values.get(key) ?? (key.endsWith(".required") ? "false" : "");
  }
  return set;
}

/** Its output without the last newline; GIT_FAILED with what it said when it fails. */
export async function gitText(folder: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await git(folder, args, options);
  if (code === 0) return stdout.replace(/\n$/, "");
  throw failed(folder, args[0] ?? "", { code, stderr });
}

function failed(folder: string, verb: string, { code, stderr }: Pick<GitAnswer, "code" | "stderr">): MidwatchError {
  const said = stderr.trim().split("\n").slice(-3).join(" ") || "it said nothing";
  const why = code === null ? "no end in time" : said;
  return new MidwatchError("GIT_FAILED", `git ${verb} failed in ${folder}: ${why}`, {
    hint: `Try it by hand: git -C ${folder} ${verb}`,
  });
}

function once(folder: string, args: readonly string[], options: GitOptions): Promise<Bytes> {
  const {
    env = process.env,
    set = {},
    timeoutMs = LOOK_MS,
    input,
    config = [],
    apart = false,
    signal,
    onPack,
  } = options;
  const place = ["-C", folder, ...(options.bare ? [`--git-dir=${folder}`] : [])];
  return new Promise((resolve, reject) => {
    const child = spawn("git", ["--no-pager", ...place, ...settings(config), ...QUIET, ...args], {
      env: {
        ...environment(env),
        ...(options.network ? {} : ALONE),
        ...set,
        ...(onPack && { GIT_TRACE_PACKFILE: "3" }),
      },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe", ...(onPack ? ["pipe" as const] : [])],
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
    // Git writes there first, and waits while nobody reads: so it is never far ahead of whoever looks.
    const judged = onPack?.(child.stdio[3] as Readable).then((reason) => {
      if (reason !== undefined) end();
      return reason;
    });
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
      const answer = { code, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr).toString() };
      void Promise.resolve(judged).then((refused) => resolve({ ...answer, refused }), reject);
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

/** Nothing is fetched by the way: a clone that has not everything could name a program for it. Older gits know only the first. */
const ALONE = { GIT_ALLOW_PROTOCOL: "", GIT_NO_LAZY_FETCH: "1" };

function environment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(withoutOuterRun(env)).filter(([name]) => !OF_ANOTHER_GIT.test(name));
  return {
    ...Object.fromEntries(own),
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "false",
    GIT_OPTIONAL_LOCKS: "0",
    LC_ALL: "C",
  };
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
