/**
 * An agent's own git worktree: made for a start, on a branch of its own from the commit that its working folder has checked out,
 * so that agents do not write over each other. What happens to it later is in retire-worktree.ts.
 */
import { createHash } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, join, normalize, relative, sep } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote } from "../core/ids.ts";
import type { WorktreeFact } from "../core/intent.ts";
import { maskText } from "../core/mask/mask.ts";
import { type Check, has, listOf, maybe, name, type Shape } from "../core/shape/shape.ts";
import { iso } from "../core/time.ts";
import type { WorktreeState } from "../core/types.ts";
import { assertInside, copyFile, makeFolder } from "../disk/inside.ts";
import { createExclusive, readJson, readText, replace } from "../disk/replace.ts";
import { readFacts } from "../facts/facts.ts";
import { type GitOptions, git, gitText } from "../process/git.ts";
import { runShell } from "../process/shell.ts";
import { type Context, catchUp, type RunName } from "../workspace/context.ts";
import { makeGitFolders } from "./git-folders.ts";

/** The repository round a folder, as `--worktree` needs it. */
export interface Repository {
  /** The checked out folder that holds the working folder: the project, or another worktree of it. */
  top: string;
  /** The git folder that all its worktrees share. */
  common: string;
  head: string;
  /** The working folder below `top`. */
  below: string;
  /** Uncommitted changes, which a worktree does not get. */
  changes: number;
}

export interface WorktreePlan {
  fact: WorktreeFact;
  /** Where the agent works: the same folder as the caller's, in the worktree. */
  cwd: string;
  source: Repository;
}

const CHECKOUT_MS = 10 * 60_000;
const SETUP_MS = 10 * 60_000;
const ALIVE_MS = 2000;
const LAST_LINES = 10;

export async function findRepository(cwd: string, env: NodeJS.ProcessEnv): Promise<Repository> {
  const refuse = (why: string, hint: string): never => {
    throw new MidwatchError("BAD_PATH", `--worktree: ${quote(cwd)} ${why}.`, { hint });
  };
  const asked = await git(cwd, ["rev-parse", "--path-format=absolute", "--is-inside-work-tree", "--git-common-dir"], {
    env,
  });
  const inBare = (): never =>
    refuse("is in a bare repository or in a .git folder", "Name a folder that is checked out with --cwd.");
  if (asked.code !== 0) {
    if (/cannot use bare repository/.test(asked.stderr)) inBare();
    if (/not a git repository/.test(asked.stderr))
      refuse("is not in a git repository", "Run `git init` and commit, or leave --worktree out.");
    refuse(`cannot be used by git: ${asked.stderr.trim()}`, "Mend what git says, or leave --worktree out.");
  }
  const [inside, common = ""] = asked.stdout.trim().split("\n");
  if (inside !== "true") inBare();
  const top = await gitText(cwd, ["rev-parse", "--path-format=absolute", "--show-toplevel"], { env });
  const head = await git(cwd, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], { env });
  if (head.code !== 0) refuse("is in a repository without a commit", "Commit something first: git commit -a");
  const changed = await gitText(top, ["status", "--porcelain", "-z", "--ignore-submodules=dirty"], { env });
  return {
    top,
    common,
    head: head.stdout.trim(),
    below: relative(top, realpathSync(cwd)),
    changes: changed.split("\0").filter((entry) => /^.. /.test(entry)).length,
  };
}

/** Throws when the branch cannot be made; nothing is made yet. */
export async function planWorktree(
  { layout, env }: Context,
  agent: AgentId,
  source: Repository,
  asked: string | undefined,
): Promise<WorktreePlan> {
  const branch = asked ?? `midwatch/${agent}`;
  const valid = await git(source.top, ["check-ref-format", "--branch", branch], { env });
  if (valid.code !== 0 || valid.stdout.trim() !== branch)
    throw new MidwatchError("USAGE", `${quote(branch)} cannot be the name of a branch.`, {
      hint: "Choose another one.",
    });
  const taken = await git(source.top, ["show-ref", "--verify", "--quiet", `refs/heads/${branch}`], { env });
  if (taken.code === 0)
    throw new MidwatchError("USAGE", `There is a branch ${quote(branch)} already; an agent gets one of its own.`, {
      hint: "Give another name with --branch, or none.",
    });
  const path = layout.worktree(agent);
  return {
    fact: {
      v: 1,
      path,
      repository: source.common,
      base: source.head,
      branch,
      copied: [],
      made_at: iso(),
    },
    cwd: join(path, source.below),
    source,
  };
}

/** Makes it. Whoever calls this has the run reserved, and retires the worktree when the launch fails. */
export async function makeWorktree(context: Context, name: RunName, plan: WorktreePlan): Promise<void> {
  const { layout, env } = context;
  const { fact, source } = plan;
  const file = layout.agent(name.task, name.agent).worktree;
  const alive = setInterval(() => stillLaunching(context, name), ALIVE_MS);
  try {
    makeFolder(layout.root, layout.run(name.task, name.agent, name.run).dir);
    makeFolder(layout.root, layout.worktrees);
    replace(file, `${JSON.stringify(fact)}\n`);
    // Two steps, each whole or not at all: a lock in the way can be waited for and the step done again.
    await gitText(source.top, ["update-ref", `refs/heads/${fact.branch}`, fact.base, ""], { env });
    await gitText(source.top, ["worktree", "add", "--quiet", fact.path, fact.branch], { env, timeoutMs: CHECKOUT_MS });
    makeGitFolders(name.agent, fact);
    copyFiles(context, plan);
    replace(file, `${JSON.stringify(fact)}\n`);
    await setUp(context, name, plan);
    if (!isFolder(plan.cwd))
      throw new MidwatchError("BAD_PATH", `The working folder ${quote(source.below)} is in no commit.`, {
        hint: "A worktree holds what is committed: commit the folder, or name another with --cwd.",
      });
  } finally {
    clearInterval(alive);
  }
}

/** Best effort, like all that a timer does: nobody would catch what it throws. */
function stillLaunching(context: Context, { agent, run }: RunName): void {
  try {
    catchUp(context, (registry) => registry.stillLaunching(agent, run));
  } catch {
    // The next step of the launch meets the same fault and tells it.
  }
}

/** What `worktree_copy` names, where the project has it and the commit does not. */
function copyFiles({ config }: Context, { fact, source }: WorktreePlan): void {
  for (const path of config.worktree_copy.split(",").map((part) => part.trim())) {
    if (path === "") continue;
    const bytes = copyFile(source.top, fact.path, path);
    if (bytes) fact.copied.push({ path: relative(".", path), sha256: sha256(bytes) });
  }
}

async function setUp(context: Context, { task, agent, run }: RunName, { fact }: WorktreePlan): Promise<void> {
  const { config, env, layout } = context;
  if (config.worktree_setup === "") return;
  const output = layout.run(task, agent, run).setup;
  createExclusive(output, "");
  const failed = await runShell(config.worktree_setup, { cwd: fact.path, env, output, timeoutMs: SETUP_MS });
  if (failed === undefined) return;
  const last = (readText(output) ?? "").trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  throw new MidwatchError("LAUNCH_FAILED", `worktree_setup failed (${failed}):\n${maskText(last)}`, {
    hint: `Everything it printed is in ${output}. Mend worktree_setup in midwatch.config.json.`,
  });
}

/** What git is given must not look like an option. */
const word: Check = (value) => name(value) && !String(value).startsWith("-");
const WORKTREE: Shape = {
  repository: word,
  base: word,
  branch: word,
  copied: maybe(listOf(has({ path: name, sha256: name }))),
};

/** What is known of an agent's worktree; undefined when it never had one. The agent can write the facts: where it lies is not theirs to say. */
export function worktreeOf({ layout }: Context, { task, agent, run }: RunName): WorktreeFact | undefined {
  const path = layout.worktree(agent);
  const fact = readJson<WorktreeFact>(layout.agent(task, agent).worktree, { shape: WORKTREE }).value;
  if (fact) return { ...fact, path, copied: (fact.copied ?? []).filter((one) => isBelow(one.path)) };
  const intent = readFacts(layout.run(task, agent, run)).intent;
  if (!intent?.worktree || !intent.git) return undefined;
  return { v: 1, ...intent.git, path, copied: [], made_at: intent.created_at };
}

function isBelow(path: string): boolean {
  return !isAbsolute(path) && !normalize(path).split(sep).includes("..");
}

/** The worktree as it is now; null when the agent never had one. */
export async function worktreeState(context: Context, name: RunName): Promise<WorktreeState | null> {
  const fact = worktreeOf(context, name);
  if (fact === undefined) return null;
  const { path, repository, base, branch } = fact;
  let dirty: boolean | null = null;
  let commits: number | null = null;
  try {
    await assertWorktree(context, fact);
    dirty = (await changesIn(context, fact)).length > 0;
    commits = Number(await gitText(path, ["rev-list", "--count", `${base}..HEAD`], { env: context.env }));
  } catch {
    // Gone, or git cannot read it: null says so.
  }
  return { path, repository, base, branch, dirty, commits };
}

/** Throws unless the folder is what we made: agents may replace it, or its `.git`, by anything. */
export async function assertWorktree({ layout, env }: Context, { path, repository }: WorktreeFact): Promise<void> {
  assertInside(layout.root, path);
  if (!isFolder(path))
    throw new MidwatchError("NOT_FOUND_WORKTREE", `The worktree ${path} is gone.`, { hint: "git worktree list" });
  const places = await git(path, ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"], {
    env,
  });
  if (places.code !== 0 || places.stdout.trim() !== `${path}\n${repository}`)
    throw new MidwatchError("NOT_FOUND_WORKTREE", `${path} is no worktree of ${repository} any more.`, {
      hint: `Look at it by hand: git -C ${path} status`,
    });
}

/** Paths that differ from the last commit, untracked ones too; ignored ones and what we copied do not count. */
export async function changesIn({ env }: Context, fact: WorktreeFact): Promise<string[]> {
  const args = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames"];
  const text = await gitText(fact.path, [...args, "--", ...withoutCopies(fact)], { env });
  return text.split("\0").filter((entry) => entry !== "");
}

/** Everything but what we copied, as git's pathspecs. */
function withoutCopies({ copied }: WorktreeFact): string[] {
  return [":/", ...copied.map(({ path }) => but(path))];
}

function but(path: string): string {
  return `:(top,literal,exclude)${path}`;
}

/**
 * Everything that is not ignored goes into the index. To tell whether a submodule has changed, `add` would ask a git inside it, which
 * runs what the submodule's own configuration says: of these only the commit is noted.
 */
export async function stageAll(context: Context, fact: WorktreeFact, options: GitOptions): Promise<void> {
  const submodules = (await trackedIn(context, fact)).filter((one) => one.submodule).map(({ path }) => path);
  await gitText(fact.path, ["add", "--all", "--", ...withoutCopies(fact), ...submodules.map(but)], options);
  if (submodules.length > 0) await gitText(fact.path, ["update-index", "--", ...submodules], options);
}

interface Tracked {
  path: string;
  /** `update-index` hides it from status: a change in it would be lost without a word. */
  hidden: boolean;
  /** With a repository of its own in it. */
  submodule: boolean;
}

export async function trackedIn({ env }: Context, fact: WorktreeFact): Promise<Tracked[]> {
  const listed = await gitText(fact.path, ["ls-files", "-v", "--stage", "-z"], { env });
  return [...listed.matchAll(/(\w) (\d+) [0-9a-f]+ \d\t([^\0]+)/g)].map(([, tag = "", mode = "", path = ""]) => ({
    path,
    hidden: /[a-z]/.test(tag) || (tag === "S" && existsSync(join(fact.path, path))),
    submodule: mode === "160000" && existsSync(join(fact.path, path, ".git")),
  }));
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
