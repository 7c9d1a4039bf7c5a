/**
 * What git writes outside a worktree when an agent commits in it: the worktree's own part of the common git folder, the objects, and
 * the folders of its branch and of that branch's log. A CLI with a sandbox has to be allowed these and nothing beside them: hooks and
 * config lie in the same git folder, and what is written there runs outside the sandbox.
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentId } from "../core/ids.ts";
import type { GitOrigin, IntentFact } from "../core/intent.ts";
import { makeFolder } from "../disk/inside.ts";
import { readText } from "../disk/replace.ts";
import { hasFact } from "../facts/run-numbers.ts";
import type { Context } from "../workspace/context.ts";

function gitFolders(agent: AgentId, { repository, branch }: GitOrigin): string[] {
  const heads = dirname(join(repository, "refs", "heads", branch));
  const logs = dirname(join(repository, "logs", "refs", "heads", branch));
  return [join(repository, "worktrees", agent), join(repository, "objects"), heads, logs];
}

/** A sandbox refuses to start with a folder that is not there; git makes those of a branch only when it writes to them. */
export function makeGitFolders(agent: AgentId, git: GitOrigin): void {
  for (const folder of gitFolders(agent, git)) if (!existsSync(folder)) makeFolder(git.repository, folder);
}

/** None for an agent without a worktree, and none of a repository that does not know the worktree as this agent's. */
export function writableFor({ layout }: Context, { task, agent, run, git }: IntentFact): string[] {
  if (!git) return [];
  // Before its first intent is written the worktree is still to be made, and nobody but us has said where.
  if (run === 1 && !hasFact(layout.run(task, agent, run), "intent")) return gitFolders(agent, git);
  const known = readText(join(git.repository, "worktrees", agent, "gitdir"))?.trim();
  if (known !== join(layout.worktree(agent), ".git")) return [];
  makeGitFolders(agent, git);
  return gitFolders(agent, git).filter(
    (folder) => folder.startsWith(`${git.repository}/`) && realpathSync(folder) === folder,
  );
}
