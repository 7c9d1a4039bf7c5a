/**
 * `sync --init`: makes a project ready for the journal, and says first what it will do. The scripts, and links by which whoever reads
 * events.log, communication.md and archive.md in the project finds them, are committed; the journal itself stays in the workspace, which git
 * ignores, and goes out on a branch of its own. A project that has no repository gets one, and a remote if `gh` is there to make it.
 * What is there already is left as it is: nothing of the user's is replaced, staged or committed.
 */
import { existsSync, lstatSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { placeLinks, placeScripts } from "../disk/place-scripts.ts";
import { createExclusive } from "../disk/replace.ts";
import { scripts } from "../journal/shell/scripts.ts";
import { snapshot } from "../messages/journal.ts";
import { makeRemote } from "../process/gh.ts";
import { git, gitText } from "../process/git.ts";
import { findRemote } from "../sync/remote.ts";
import { AUTHOR } from "../sync/repository.ts";
import type { Context } from "../workspace/context.ts";
import { midwatchCommand } from "../workspace/find-command.ts";

const VIEWS = ["events.log", "communication.md", "archive.md"];

/** Whether there is a remote to sync with. */
export async function initSync(context: Context, tell: (text: string) => void): Promise<boolean> {
  const { layout, config, env } = context;
  const project = dirname(layout.root);
  const plan = await planOf(context, project);
  for (const line of plan.lines) tell(`will ${line}`);
  createExclusive(layout.events, "");
  await snapshot(context);
  if (plan.makesRepository) await gitText(project, ["init", "--quiet", "--initial-branch=main"], { env });
  if (plan.makesReadme) createExclusive(join(project, "README.md"), `# ${basename(project)}\n`);
  if (Object.keys(plan.scripts).length > 0) placeScripts(layout.scripts, plan.scripts);
  const links = placeLinks(project, basename(layout.root), plan.links);
  const made = [...(plan.isFirst ? ["README.md"] : []), ...Object.keys(plan.scripts).map((name) => `scripts/${name}`)];
  const committed = await commit(context, project, [...made, ...links], plan.isFirst);
  if (committed.length > 0) tell(`committed ${committed.join(", ")}`);
  if ((await findRemote(layout, config, env)) !== undefined) return true;
  const remote = await makeRemote(project, basename(project), env);
  if (remote === undefined) {
    tell(
      "there is no remote to sync with, and no `gh` to make one: `git remote add origin URL` or set `sync_remote`, then `midwatch sync`",
    );
    return false;
  }
  tell(remote);
  // Only what was committed here just now: somebody's own branches are theirs to push.
  if (plan.isFirst)
    await gitText(project, ["push", "--quiet", "-u", "origin", "HEAD"], { env, apart: true, network: true });
  return true;
}

interface Plan {
  makesRepository: boolean;
  makesReadme: boolean;
  /** There is no commit yet. */
  isFirst: boolean;
  /** Those that are not there. */
  scripts: Record<string, string>;
  links: string[];
  lines: string[];
}

async function planOf(context: Context, project: string): Promise<Plan> {
  const { layout, env } = context;
  const inside = await git(project, ["rev-parse", "--is-inside-work-tree"], { env });
  if (inside.code === 0 && inside.stdout.trim() !== "true") {
    throw new MidwatchError("GIT_FAILED", `${project} is in a git folder, not in a project that is checked out.`, {
      hint: "Go to a clone of the project, and `midwatch sync --init` there.",
    });
  }
  const makesRepository = inside.code !== 0;
  const isFirst = (await git(project, ["rev-parse", "--verify", "--quiet", "HEAD"], { env })).code !== 0;
  const makesReadme = isFirst && !existsSync(join(project, "README.md"));
  const isMissing = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) === undefined;
  const texts = Object.entries(scripts(midwatchCommand(context)));
  const missing = Object.fromEntries(texts.filter(([name]) => isMissing(join(layout.scripts, name))));
  const links = VIEWS.filter((name) => isMissing(join(project, name)));
  const lines = [
    ...(makesRepository ? [`make a git repository in ${project}`] : []),
    ...(makesReadme ? ["write README.md"] : []),
    ...Object.keys(missing).map((name) => `write scripts/${name}`),
    ...links.map((name) => `link ${name} to ${basename(layout.root)}/${name}, which git ignores`),
    ...(isFirst || links.length > 0 || Object.keys(missing).length > 0 ? ["commit these files and nothing else"] : []),
  ];
  return { makesRepository, makesReadme, isFirst, scripts: missing, links, lines };
}

/** These files alone, whatever else is staged; what the project ignores stays out. Gives what was committed. */
async function commit(
  { env }: Context,
  project: string,
  paths: readonly string[],
  isFirst: boolean,
): Promise<string[]> {
  const wanted: string[] = [];
  for (const path of paths)
    if ((await git(project, ["check-ignore", "--quiet", "--", path], { env })).code !== 0) wanted.push(path);
  if (wanted.length === 0) return [];
  const known = await git(project, ["var", "GIT_AUTHOR_IDENT"], { env });
  const set = known.code === 0 ? {} : AUTHOR;
  await gitText(project, ["add", "--", ...wanted], { env });
  const message = isFirst ? "chore: initial commit" : "chore: scripts and links of the midwatch journal";
  await gitText(project, ["commit", "--quiet", "-m", message, "--", ...wanted], { env, set });
  return wanted;
}
