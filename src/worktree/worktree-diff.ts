/**
 * What an agent changed: its commits and what it has not committed, untracked files included, as one difference to the commit it
 * began with. Looking changes nothing: the index is a copy, and what git has to store for it goes to a folder that is thrown away.
 */
import { join } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { WorktreeFact } from "../core/intent.ts";
import { withScratch } from "../disk/scratch.ts";
import { locate } from "../facts/locate.ts";
import { gitText } from "../process/git.ts";
import type { Context } from "../workspace/context.ts";
import { assertWorktree, changesIn, stageAll, worktreeOf } from "./worktree.ts";

export interface DiffOptions {
  /** Only the list of files, not their text. */
  stat?: boolean | undefined;
}

export interface ChangedFile {
  path: string;
  /** Of a file that was moved: where from. */
  from: string | null;
  /** As git has it: A added, D deleted, M modified, R renamed, T of another type. */
  status: string;
  /** Lines; null for a binary file. */
  added: number | null;
  deleted: number | null;
}

export interface WorktreeDiff {
  agent: AgentId;
  worktree: string;
  branch: string;
  base: string;
  head: string;
  /** Whether something of it is in no commit. */
  dirty: boolean;
  commits: { commit: string; subject: string; at: string }[];
  files: ChangedFile[];
  /** As `git diff` prints it; null when only the list was asked for. */
  patch: string | null;
}

export async function diffWorktree(context: Context, agent: AgentId, options: DiffOptions): Promise<WorktreeDiff> {
  const { listed } = locate(context, agent);
  const fact = worktreeOf(context, { task: listed.agent.task, agent, run: listed.run.run });
  if (fact === undefined)
    throw new MidwatchError("NOT_FOUND_WORKTREE", `${agent} works in no worktree of its own.`, {
      hint: "An agent that is started with `midwatch run --worktree` has one; else `git diff` in its working folder.",
    });
  await assertWorktree(context, fact);
  const { path: worktree, branch, base } = fact;
  const run = (args: string[]): Promise<string> => gitText(worktree, args, { env: context.env });
  const head = await run(["rev-parse", "HEAD"]);
  const log = await run(["log", "-z", "--reverse", "--format=%H%n%cI%n%s", `${base}..HEAD`]);
  const index = await run(["rev-parse", "--path-format=absolute", "--git-path", "index"]);
  return await withScratch({ index }, async (scratch) => ({
    agent,
    worktree,
    branch,
    base,
    head,
    dirty: (await changesIn(context, fact)).length > 0,
    commits: log
      .split("\0")
      .filter((entry) => entry !== "")
      .map((entry) => entry.split("\n"))
      .map(([commit = "", at = "", ...subject]) => ({ commit, at, subject: subject.join("\n") })),
    ...(await compare(context, fact, scratch, options)),
  }));
}

async function compare(
  context: Context,
  fact: WorktreeFact,
  scratch: string,
  { stat = false }: DiffOptions,
): Promise<Pick<WorktreeDiff, "files" | "patch">> {
  const set = {
    GIT_INDEX_FILE: join(scratch, "index"),
    GIT_OBJECT_DIRECTORY: join(scratch, "objects"),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(fact.repository, "objects")),
  };
  const options = { env: context.env, set, timeoutMs: 5 * 60_000 };
  const run = (args: string[]): Promise<string> => gitText(fact.path, args, options);
  const diff = ["diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames"];
  await stageAll(context, fact, options);
  const names = await run([...diff, "--name-status", "-z", fact.base]);
  const counts = await run([...diff, "--numstat", "-z", fact.base]);
  const patch = stat ? null : await run([...diff, fact.base]);
  return { files: changedFiles(names, counts), patch: patch === null || patch === "" ? patch : `${patch}\n` };
}

/** Both lists have the same files in the same order; a renamed one has two names. */
function changedFiles(names: string, counts: string): ChangedFile[] {
  const words = names.split("\0");
  const lines = counts.split("\0");
  const files: ChangedFile[] = [];
  for (let w = 0, l = 0; (words[w] ?? "") !== ""; ) {
    const status = words[w++] as string;
    const from = /^[RC]/.test(status) ? (words[w++] as string) : null;
    const path = words[w++] as string;
    const [added = "-", deleted = "-"] = (lines[l] ?? "").split("\t");
    l += from === null ? 1 : 3;
    files.push({ path, from, status: status.slice(0, 1), added: count(added), deleted: count(deleted) });
  }
  return files;
}

function count(text: string): number | null {
  return text === "-" ? null : Number(text);
}
