import { spawnSync } from "node:child_process";

const GIT_MS = 10_000;

/** Why a git worktree holds something that exists nowhere else; undefined when all of it is in another branch, too. */
export function unsavedWork(path: string): string | undefined {
  const status = git(path, "status", "--porcelain", "--untracked-files=all");
  if (status === undefined) return "git cannot read it";
  if (status !== "") return "it has changes that are not committed";
  const own = git(path, "rev-parse", "--symbolic-full-name", "HEAD");
  const holders = git(path, "for-each-ref", "--contains", "HEAD", "--format=%(refname)", "refs/heads", "refs/remotes");
  if (own === undefined || holders === undefined) return "git cannot read it";
  return holders.split("\n").some((ref) => ref !== "" && ref !== own)
    ? undefined
    : "its commits are in no other branch";
}

function git(path: string, ...args: string[]): string | undefined {
  const asked = spawnSync("git", ["-c", "core.fsmonitor=false", "-C", path, ...args], {
    encoding: "utf8",
    timeout: GIT_MS,
    env: { ...process.env, GIT_OPTIONAL_LOCKS: "0" },
  });
  return asked.status === 0 ? asked.stdout.trim() : undefined;
}
