/**
 * `sync --init`: a project that has no repository gets one with a first commit, and a remote if `gh` is there to make it. What is there
 * already is left as it is.
 */
import { basename, dirname, join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { createExclusive } from "../disk/replace.ts";
import { initScripts, snapshot } from "../messages/journal.ts";
import { makeRemote } from "../process/gh.ts";
import { git, gitText } from "../process/git.ts";
import { findRemote } from "../sync/remote.ts";
import { AUTHOR } from "../sync/repository.ts";
import type { Context } from "../workspace/context.ts";

export async function initSync(context: Context, tell: (text: string) => void): Promise<void> {
  const { layout, config, env } = context;
  const project = dirname(layout.root);
  createExclusive(layout.events, "");
  await snapshot(context);
  for (const path of initScripts(context)) tell(`wrote ${path}`);
  const madeFirst = await firstCommit(project, env, tell);
  if ((await findRemote(layout, config, env)) !== undefined) return;
  const made = await makeRemote(project, basename(project), env);
  if (made === undefined) {
    throw new MidwatchError(
      "NOT_FOUND_REMOTE",
      "There is no remote to sync the journal with, and no `gh` to make one.",
      {
        hint: "Make a repository somewhere, then `git remote add origin URL` or set `sync_remote`, and `midwatch sync`.",
      },
    );
  }
  tell(made);
  // Only what was committed here just now: somebody's own branches are theirs to push.
  if (madeFirst)
    await gitText(project, ["push", "--quiet", "-u", "origin", "HEAD"], { env, apart: true, network: true });
}

async function firstCommit(project: string, env: NodeJS.ProcessEnv, tell: (text: string) => void): Promise<boolean> {
  const inside = await git(project, ["rev-parse", "--is-inside-work-tree"], { env });
  if (inside.code !== 0) {
    await gitText(project, ["init", "--quiet", "--initial-branch=main"], { env });
    tell(`made a git repository in ${project}`);
  }
  const head = await git(project, ["rev-parse", "--verify", "--quiet", "HEAD"], { env });
  if (head.code === 0) return false;
  createExclusive(join(project, "README.md"), `# ${basename(project)}\n`);
  const known = await git(project, ["var", "GIT_AUTHOR_IDENT"], { env });
  const set = known.code === 0 ? {} : AUTHOR;
  await gitText(project, ["add", "--", "README.md"], { env });
  const commit = ["commit", "--quiet", "-m", "chore: initial commit", "--", "README.md"];
  await gitText(project, commit, { env, set });
  tell("made the first commit, with README.md");
  return true;
}
