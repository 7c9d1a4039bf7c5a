/**
 * Taking an agent's worktree away without ever losing work. It goes only when the agent has ended, no process works in it, and all
 * that is in it is in another branch too; git itself checks once more (`worktree remove` without --force). Everything else is kept
 * and told, or, when asked for, saved as a branch first.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { WorktreeFact } from "../core/intent.ts";
import type { WorktreeReport } from "../core/types.ts";
import { removeFile, removeTree } from "../disk/inside.ts";
import { readFacts } from "../facts/facts.ts";
import { hasEnded } from "../facts/observe.ts";
import { git, gitText, ownFilters } from "../process/git.ts";
import { processesIn } from "../process/identity.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";
import { assertWorktree, changesIn, sha256, stageAll, trackedIn, worktreeOf } from "./worktree.ts";

type Retired = Pick<WorktreeReport, "action" | "why">;

/** Who signs a rescue where git knows no user. */
const SIGNED = Object.fromEntries(
  ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "midwatch"],
    [`GIT_${who}_EMAIL`, "midwatch@localhost"],
  ]),
);
const RESCUE_NAMES = 100;

/** With `rescue`, work that exists nowhere else is committed to `midwatch/rescue/<agent>` first. Never throws. */
export async function retireWorktree(
  context: Context,
  name: RunName,
  { rescue = false }: { rescue?: boolean | undefined } = {},
): Promise<Retired> {
  const fact = worktreeOf(context, name);
  if (fact === undefined) return { action: "missing", why: "it has no worktree of its own" };
  try {
    if (isAtWork(context, name)) return kept("its agent has not ended");
    if (!existsSync(fact.path)) return await forget(context, fact);
    await assertWorktree(context, fact);
    const [user] = processesIn(fact.path);
    if (user !== undefined) return kept(`process ${user.pid} (${user.name}) works in it`);
    const own = await hasOwnBranch(context, fact);
    const why = await unsaved(context, fact);
    if (why === undefined)
      return await remove(context, fact, own, { action: "removed", why: "all of it is in another branch" });
    return rescue ? await rescueWork(context, name.agent, fact, own) : kept(why);
  } catch (error) {
    return kept(toMidwatchError(error).message);
  }
}

/** Why its worktree may not go, in words; undefined when it may, or there is none. */
export async function mustKeepWorktree(context: Context, name: RunName): Promise<string | undefined> {
  const fact = worktreeOf(context, name);
  if (fact === undefined || !existsSync(fact.path)) return undefined;
  try {
    await assertWorktree(context, fact);
    return await unsaved(context, fact);
  } catch (error) {
    return toMidwatchError(error).message;
  }
}

/** After a launch that failed: no agent ever worked in it, so all of it is what we made and goes without a question. */
export async function undoWorktree(context: Context, name: RunName): Promise<void> {
  const fact = worktreeOf(context, name);
  const { intent, start, claim, damaged } = readFacts(context.layout.run(name.task, name.agent, name.run));
  if (damaged.length > 0) return; // What it was is not known: somebody may have worked there.
  // A keeper that is only slow may still start it.
  const neverRan = intent === undefined || claim?.by === "launcher" || start?.exec_error;
  if (fact === undefined || name.run !== 1 || !neverRan) return;
  try {
    if (processesIn(fact.path).length > 0) return; // A setup whose launcher was killed goes on.
    removeTree(context.layout.root, fact.path);
    await forget(context, fact);
  } catch {
    // It stays, as any other that cannot be removed; what made the launch fail is what has to be told.
  }
}

function kept(why: string): Retired {
  return { action: "kept", why };
}

function isAtWork(context: Context, name: RunName): boolean {
  const newest = withReader(context, (registry) => registry.get(name.agent))?.run.run ?? name.run;
  return [name.run, newest].some((run) => {
    const facts = readFacts(context.layout.run(name.task, name.agent, run));
    return facts.intent !== undefined && !hasEnded(facts);
  });
}

/** The folder is gone already: what git still knows of it goes too, and its branch if nothing is lost by that. */
async function forget(context: Context, fact: WorktreeFact): Promise<Retired> {
  const gone: Retired = { action: "missing", why: `${fact.path} is gone` };
  if (!(await isItsRepository(context, fact))) return gone;
  const own = await hasOwnBranch(context, fact);
  await git(fact.repository, ["worktree", "remove", fact.path], { env: context.env, bare: true });
  if (own) await removeBranch(context, fact);
  return gone;
}

/** The fact may name any repository: it is the project's, or one in which git knows this very worktree. */
async function isItsRepository(context: Context, fact: WorktreeFact): Promise<boolean> {
  const { layout, env } = context;
  const project = await git(dirname(layout.root), ["rev-parse", "--path-format=absolute", "--git-common-dir"], { env });
  if (project.code === 0 && project.stdout.trim() === fact.repository) return true;
  return (await knownAs(context, fact)) !== undefined;
}

/** What of it exists nowhere else; undefined when nothing does. */
async function unsaved(context: Context, fact: WorktreeFact): Promise<string | undefined> {
  const changes = await changesIn(context, fact);
  if (changes.length > 0) return `${changes.length} uncommitted ${changes.length === 1 ? "change" : "changes"}`;
  const tracked = await trackedIn(context, fact);
  const hidden = tracked.find((one) => one.hidden);
  if (hidden !== undefined) return `git was told not to look at ${hidden.path}`;
  // What changed in it is asked of a git inside it, which would run what its own configuration says.
  const submodule = tracked.find((one) => one.submodule);
  if (submodule !== undefined) return `it holds the submodule ${submodule.path}`;
  const head = await gitText(fact.path, ["rev-parse", "HEAD"], { env: context.env });
  if (!(await isElsewhere(context, fact, head))) return "it has commits that are in no other branch";
  return undefined;
}

/** Whether a commit was there before the agent, or is in a branch or tag beside its own. */
async function isElsewhere({ env }: Context, fact: WorktreeFact, commit: string): Promise<boolean> {
  const { repository, base, branch } = fact;
  if ((await git(repository, ["merge-base", "--is-ancestor", commit, base], { env, bare: true })).code === 0)
    return true;
  const refs = await gitText(
    repository,
    ["for-each-ref", `--contains=${commit}`, "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags"],
    { env, bare: true },
  );
  return refs.split("\n").some((ref) => ref !== "" && ref !== `refs/heads/${branch}`);
}

async function remove(context: Context, fact: WorktreeFact, own: boolean, done: Retired): Promise<Retired> {
  for (const { path, sha256: hash } of fact.copied) {
    const file = join(fact.path, path);
    // The same bytes as when we put it there: no work of anybody's. One that git tracks now is git's matter.
    const tracked = await git(fact.path, ["ls-files", "--error-unmatch", "--", `:(top,literal)${path}`], {
      env: context.env,
    });
    if (tracked.code !== 0 && existsSync(file) && sha256(readFileSync(file)) === hash)
      removeFile(context.layout.root, file);
  }
  const options = { env: context.env, bare: true, about: fact.path, timeoutMs: 10 * 60_000 };
  await gitText(fact.repository, ["worktree", "remove", fact.path], options);
  if (own) await removeBranch(context, fact);
  return done;
}

/** The agent can write the fact, and could name anybody's: it has the name that we give, or git itself knows it as that of this worktree. */
async function hasOwnBranch(context: Context, fact: WorktreeFact): Promise<boolean> {
  if (fact.branch === `midwatch/${basename(fact.path)}`) return true;
  return (await knownAs(context, fact))?.includes(`branch refs/heads/${fact.branch}`) === true;
}

/** What git tells of the worktree, a line each, in the repository that the fact names. */
async function knownAs({ env }: Context, { repository, path }: WorktreeFact): Promise<string[] | undefined> {
  const listed = await git(repository, ["worktree", "list", "--porcelain", "-z"], { env, bare: true });
  const blocks = listed.stdout.split("\0\0").map((block) => block.split("\0"));
  return blocks.find((lines) => lines.includes(`worktree ${path}`));
}

/** The branch as it is now, unless it holds something of its own or is checked out somewhere. */
async function removeBranch(context: Context, fact: WorktreeFact): Promise<void> {
  const ref = `refs/heads/${fact.branch}`;
  const format = "--format=%(objectname) %(worktreepath)";
  const options = { env: context.env, bare: true };
  const [tip = "", used = ""] = (await gitText(fact.repository, ["for-each-ref", format, ref], options)).split(" ");
  if (tip === "" || used !== "" || !(await isElsewhere(context, fact, tip))) return;
  await git(fact.repository, ["update-ref", "-d", ref, tip], options);
}

/**
 * Everything that is not ignored becomes a commit on a branch of its own, what was staged as a commit before it. The worktree is
 * then exactly that commit, so that git's own check lets it go; a file written meanwhile makes git refuse, and it stays.
 */
async function rescueWork(context: Context, agent: AgentId, fact: WorktreeFact, own: boolean): Promise<Retired> {
  const { path } = fact;
  // To commit without them could put into the history what they are there to keep out of it.
  const [filter] = await ownFilters(path, context.env);
  if (filter !== undefined)
    return kept(`only this repository's configuration defines ${filter}, which does not run here: commit it by hand`);
  const options = { env: { ...SIGNED, ...context.env }, timeoutMs: 10 * 60_000 };
  const run = (...args: string[]): Promise<string> => gitText(path, args, options);
  for (const flag of ["--no-assume-unchanged", "--no-skip-worktree"]) {
    const hidden = (await trackedIn(context, fact)).filter((one) => one.hidden);
    const input = hidden.map((one) => `${one.path}\0`).join("");
    await gitText(path, ["update-index", flag, "-z", "--stdin"], { env: context.env, input });
  }
  const head = await run("rev-parse", "HEAD");
  const before = await git(path, ["symbolic-ref", "--quiet", "HEAD"], { env: context.env });
  const staged = await git(path, ["write-tree"], { env: context.env }); // Fails in the middle of a merge: then there is none.
  await stageAll(context, fact, options);
  const whole = await run("write-tree");
  let commit = head;
  for (const tree of [...(staged.code === 0 ? [staged.stdout.trim()] : []), whole]) {
    if (tree === (await run("rev-parse", `${commit}^{tree}`))) continue;
    const what = tree === whole ? "uncommitted work" : "what was staged";
    commit = await run("commit-tree", tree, "-p", commit, "-m", `midwatch: ${what} of ${agent}`);
  }
  const branch = await nameRescue(context, agent, fact, commit);
  try {
    await run("update-ref", "--no-deref", "HEAD", commit, head);
    return await remove(context, fact, own, { action: "rescued", why: `its work is in the branch ${branch}` });
  } catch (error) {
    if (before.code === 0) await run("symbolic-ref", "HEAD", before.stdout.trim());
    return kept(`${toMidwatchError(error).message} Its work is in the branch ${branch}, too.`);
  }
}

/** Another rescue of the same agent is never written over. */
async function nameRescue(context: Context, agent: AgentId, fact: WorktreeFact, commit: string): Promise<string> {
  for (let i = 1; ; i++) {
    const branch = `midwatch/rescue/${agent}${i === 1 ? "" : `-${i}`}`;
    const args = ["update-ref", `refs/heads/${branch}`, commit, ""];
    const options = { env: context.env, bare: true };
    if (i === RESCUE_NAMES) await gitText(fact.repository, args, options);
    if ((await git(fact.repository, args, options)).code === 0) return branch;
  }
}
