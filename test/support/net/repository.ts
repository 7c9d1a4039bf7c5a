import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { patient } from "../patience.ts";

/** `git ARGS` in a folder; what it prints, without the last newline. Throws when it fails. */
export function gitIn(folder: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const done = spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: patient(30_000),
  });
  if (done.status !== 0) throw new Error(`git ${args.join(" ")}: ${done.stderr}`);
  return done.stdout.replace(/\n$/, "");
}

export function put(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** A repository with one commit of these files. */
export function makeRepository(folder: string, files: Record<string, string> = {}): void {
  gitIn(folder, "init", "--quiet", "--initial-branch=main");
  const all = { "a.txt": "one\n", "sub/b.txt": "two\n", ".gitignore": ".env\n*.log\nmidwatch.config.json\n", ...files };
  for (const [path, text] of Object.entries(all)) put(folder, path, text);
  gitIn(folder, "add", "--all");
  gitIn(folder, "commit", "--quiet", "-m", "first");
}
