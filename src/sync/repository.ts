/**
 * Our side of git: a bare repository below the workspace that holds nothing but the branch of the journal. No index, no checked out
 * files, no rebase that could be left half done: trees and commits are made directly, so a kill anywhere leaves only objects that nobody
 * needs. The project's own repository is read for the address of the remote and its credentials, and never written.
 */
import { existsSync, globSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import { isOriginId, type OriginId } from "../core/ids.ts";
import { removeFile, removeTree } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import { type GitAnswer, type GitOptions, git, gitBytes } from "../process/git.ts";
import { isMentioned } from "../process/identity.ts";
import { faultOf, type SyncFault, saidBy, WHAT_NEXT } from "./fault.ts";
import { PACK_BOUNDS, packExcess } from "./pack-gauge.ts";
import type { Remote } from "./remote.ts";

/** Thrown by what talks to the remote, and by git itself. */
export class SyncFailure extends Error {
  readonly fault: SyncFault;

  constructor(fault: SyncFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** A file of the branch. */
export interface Blob {
  sha: string;
  bytes: number;
}

export interface Tip {
  commit: string;
  files: Map<OriginId, Blob>;
  /** Whether the branch shows the journal to people. */
  isShown: boolean;
  /** What else lies in the branch, as `git mktree` takes it. */
  others: string[];
}

interface Entry {
  mode: string;
  type: string;
  sha: string;
  size: number;
  path: string;
}

const TIP = "refs/midwatch/tip";
const FOLDER = "events";
const LINK = "120000";
const PLAIN = "100644";
const SHOWN = ["communication.md", "archive.md"];
const NETWORK_MS = 120_000;
/** Workspaces that ever wrote to one branch. */
const FILES_MAX = 4096;
const LOCK_WAIT_MS = 2000;
const LOOSE_MAX = 1024;
const ABOUT = `# Journal of midwatch

Written by \`midwatch sync\`. communication.md has the recent conversations, archive.md the older ones; both are made of events/, which has
one file for each workspace that only ever grows. Do not edit or merge this branch.
`;

export class Repository {
  readonly #layout: Layout;
  readonly #remote: Remote;
  readonly #env: NodeJS.ProcessEnv;
  readonly #signal: AbortSignal | undefined;
  readonly #networkMs: number;

  constructor(
    layout: Layout,
    remote: Remote,
    env: NodeJS.ProcessEnv,
    { signal, networkMs = NETWORK_MS }: { signal?: AbortSignal | undefined; networkMs?: number | undefined } = {},
  ) {
    this.#layout = layout;
    this.#remote = remote;
    this.#env = env;
    this.#signal = signal;
    this.#networkMs = networkMs;
  }

  /** Makes it when it is missing; takes away locks whose git is gone. */
  async prepare(): Promise<void> {
    const { sync } = this.#layout;
    if (!existsSync(`${sync.git}/HEAD`)) await this.#must(["init", "--quiet", "--bare", "--template=", sync.git]);
    for (const until = performance.now() + LOCK_WAIT_MS; ; await sleep(100)) {
      const locks = globSync(["*.lock", "refs/**/*.lock"], { cwd: sync.git });
      if (locks.length === 0) return;
      // A process that was started on our repository, and outlived its midwatch, may still hold a lock.
      if (!isMentioned(sync.git)) for (const lock of locks) removeFile(this.#layout.root, `${sync.git}/${lock}`);
      else if (performance.now() > until) return; // Whoever meets the lock says so.
    }
  }

  /** It can be made anew from the files and the remote at any time. */
  discard(): void {
    removeTree(this.#layout.root, this.#layout.sync.git);
  }

  /** What the remote has now; undefined when there is no such branch yet. */
  async fetch(): Promise<Tip | undefined> {
    const { url, branch } = this.#remote;
    const flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--force", "--refmap="];
    const program = "--upload-pack=git-upload-pack";
    const answer = await this.#git(["fetch", ...flags, program, "--", url, `+refs/heads/${branch}:${TIP}`], {
      ...this.#network(),
      onPack: (pack) => packExcess(pack),
    });
    if (answer.refused !== undefined) {
      this.discard(); // With the part that was taken.
      throw tooMuch(answer.refused);
    }
    if (answer.code === 0) return await this.#tip();
    if (!/couldn't find remote ref/i.test(answer.stderr)) this.#fail("fetch", answer);
    await this.#git(["update-ref", "-d", TIP]);
    return undefined;
  }

  async #tip(): Promise<Tip> {
    const commit = (await this.#must(["rev-parse", "--verify", TIP])).trim();
    // Never further down: a few small trees in one another can name billions of files.
    const top = (await this.#list([commit])).filter(({ path }) => path !== FOLDER);
    const others = top.filter(({ path }) => !SHOWN.includes(path));
    const isShown = top.filter(({ path, mode }) => SHOWN.includes(path) && mode === PLAIN).length === SHOWN.length;
    const files = new Map<OriginId, Blob>();
    let total = 0;
    for (const { mode, type, sha, size, path } of await this.#list(["-l", commit, `${FOLDER}/`])) {
      const name = /^events\/([^/]+)\.jsonl$/.exec(path)?.[1];
      if (type !== "blob" || mode === LINK || !isOriginId(name)) continue;
      files.set(name, { sha, bytes: size });
      total += size;
      if (files.size > FILES_MAX) throw tooMuch(`it has more than ${FILES_MAX} files`);
      if (size > PACK_BOUNDS.objectBytes) throw tooMuch(`${path} has ${size} bytes`);
      if (total > PACK_BOUNDS.bytes) throw tooMuch(`its files have more than ${PACK_BOUNDS.bytes} bytes`);
    }
    return {
      commit,
      files,
      isShown,
      others: others.map(({ mode, type, sha, path }) => `${mode} ${type} ${sha}\t${path}`),
    };
  }

  async #list(args: readonly string[]): Promise<Entry[]> {
    const listed = await this.#must(["ls-tree", "-z", "--full-tree", ...args]);
    return listed.split("\0").flatMap((line) => {
      const [, mode, type, sha, size, path] = /^(\d+) (\w+) ([0-9a-f]+)(?: +(\S+))?\t([\s\S]+)$/.exec(line) ?? [];
      return mode && type && sha && path ? [{ mode, type, sha, size: Number(size), path }] : [];
    });
  }

  async read({ sha }: Blob): Promise<Buffer> {
    const { code, stdout, stderr } = await gitBytes(dirname(this.#layout.root), this.#args(["cat-file", "blob", sha]), {
      ...this.#options(),
    });
    if (code === 0) return stdout;
    return this.#fail("cat-file", { code, stdout: "", stderr });
  }

  async write(bytes: Buffer): Promise<Blob> {
    const sha = await this.#must(["hash-object", "-w", "--stdin"], { input: bytes });
    return { sha: sha.trim(), bytes: bytes.length };
  }

  /** A commit behind the tip, with these files. */
  async commit(
    tip: Tip | undefined,
    files: ReadonlyMap<OriginId, Blob>,
    shown: ReadonlyMap<string, Blob>,
    message: string,
  ): Promise<string> {
    const entries = [...files].map(([origin, { sha }]) => `${PLAIN} blob ${sha}\t${origin}.jsonl`);
    const views = [...shown].map(([name, { sha }]) => `${PLAIN} blob ${sha}\t${name}`);
    const others = tip?.others ?? [`${PLAIN} blob ${(await this.write(Buffer.from(ABOUT))).sha}\tREADME.md`];
    const folder = entries.length === 0 ? [] : [`040000 tree ${await this.#tree(entries)}\t${FOLDER}`];
    const parent = tip === undefined ? [] : ["-p", tip.commit];
    const tree = await this.#tree([...others, ...views, ...folder]);
    return (await this.#must(["commit-tree", tree, ...parent, "-m", message], { set: AUTHOR })).trim();
  }

  async #tree(entries: readonly string[]): Promise<string> {
    return (await this.#must(["mktree", "-z"], { input: entries.map((entry) => `${entry}\0`).join("") })).trim();
  }

  /** `dry` asks only whether we may. */
  async push(commit: string, dry = false): Promise<void> {
    const { url, branch } = this.#remote;
    const flags = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"];
    const program = "--receive-pack=git-receive-pack";
    const target = `${commit}:refs/heads/${branch}`;
    const answer = await this.#git(
      ["push", ...flags, program, ...(dry ? ["--dry-run"] : []), "--", url, target],
      this.#network(),
    );
    if (answer.code !== 0) this.#fail("push", answer);
    if (!dry) await this.#git(["update-ref", TIP, commit]);
  }

  /** Each sync makes a few small objects; now and then they are packed. How many there are is guessed as git does, by one folder. */
  async tidy(): Promise<void> {
    if (globSync("objects/17/*", { cwd: this.#layout.sync.git }).length < LOOSE_MAX / 256) return;
    await this.#git(["gc", "--quiet", "--prune=now"], { timeoutMs: this.#networkMs });
  }

  async #must(args: readonly string[], options: GitOptions = {}): Promise<string> {
    const answer = await this.#git(args, options);
    if (answer.code === 0) return answer.stdout;
    return this.#fail(args[0] ?? "", answer);
  }

  #fail(what: string, answer: GitAnswer): never {
    if (this.#signal?.aborted) throw new SyncFailure("transient", "It was ended.");
    const fault = faultOf(answer);
    const said = saidBy(answer);
    if (/No space left|quota exceeded/i.test(said) && fault === "local")
      throw new MidwatchError("DISK_FULL", `git ${what} has no room: ${said}`, { hint: WHAT_NEXT.local });
    throw new SyncFailure(fault, `git ${what}: ${said}`);
  }

  #git(args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
    // In the project: a remote may be a path from there.
    return git(dirname(this.#layout.root), this.#args(args), { ...this.#options(), ...options });
  }

  #args(args: readonly string[]): string[] {
    return args[0] === "init" ? [...args] : [`--git-dir=${this.#layout.sync.git}`, "-c", "core.bare=true", ...args];
  }

  #options(): GitOptions {
    return { env: this.#env, signal: this.#signal, apart: true };
  }

  /** A person said that the journal goes there: how the project reaches its remotes (ssh, credentials, proxies) counts, as for a push by hand. */
  #network(): GitOptions {
    const { config, set } = this.#remote;
    return { timeoutMs: this.#networkMs, network: true, config, set };
  }
}

function tooMuch(why: string): SyncFailure {
  return new SyncFailure("too_large", `The branch at the remote was not taken: ${why}.`);
}

/** Not the user's: nobody wants thousands of commits under their name. */
export const AUTHOR: Readonly<Record<string, string>> = {
  GIT_AUTHOR_NAME: "midwatch",
  GIT_AUTHOR_EMAIL: "midwatch@localhost",
  GIT_COMMITTER_NAME: "midwatch",
  GIT_COMMITTER_EMAIL: "midwatch@localhost",
};
