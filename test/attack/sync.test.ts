/** A remote that somebody else can push to holds more than a journal: it is refused before git unpacks it, and nothing of it stays. */
import { execFileSync } from "node:child_process";
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { gitIn, makeRepository } from "../support/net/repository.ts";
import type { Lab } from "../support/workspace.ts";

class EvilRemote {
  readonly path = join(folder(), "remote.git");

  constructor() {
    execFileSync("git", ["init", "--quiet", "--bare", this.path]);
  }

  #git(args: readonly string[], input?: Buffer | string): string {
    return execFileSync("git", ["--git-dir", this.path, ...args], { input })
      .toString()
      .trim();
  }

  blob(bytes: Buffer): string {
    return this.#git(["hash-object", "-w", "--stdin"], bytes);
  }

  tree(entries: readonly string[]): string {
    return this.#git(["mktree"], `${entries.join("\n")}\n`);
  }

  publish(tree: string): void {
    const commit = gitIn(this.path, "commit-tree", tree, "-m", "journal");
    this.#git(["update-ref", "refs/heads/midwatch-journal", commit]);
  }

  get bytes(): number {
    return bytesBelow(this.path);
  }
}

function bytesBelow(place: string): number {
  const files = globSync("**/*", { cwd: place }).map((path) => statSync(join(place, path)));
  return files.reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

function clonedFrom({ path }: EvilRemote): Lab {
  const place = folder();
  makeRepository(place);
  gitIn(place, "remote", "add", "origin", path);
  return lab({}, place);
}

const origin = (i: number): string => `evil-${i.toString(16).padStart(6, "0")}`;
const LINE = Buffer.from(`{"v":1,"content":"${"a".repeat(200)}"}\n`);

async function refused(remote: EvilRemote): Promise<string> {
  const at = clonedFrom(remote);
  await at.cli("event", "1", "A", "note", "ours stays");
  const { code, stdout } = await at.cli("sync", "--json");
  expect(code).not.toBe(0);
  const status = JSON.parse(stdout) as { state: string; fault: string; message: string };
  expect(status).toMatchObject({ state: "stopped", fault: "too_large" });
  expect(bytesBelow(at.root)).toBeLessThan(8 << 20);
  expect((await at.cli("events", "--json")).stdout).toContain("ours stays");
  return status.message;
}

it("a remote of a few megabytes that would become hundreds is not taken", async () => {
  const remote = new EvilRemote();
  const file = Buffer.alloc(Math.floor((58 << 20) / LINE.length) * LINE.length, LINE);
  const entries = Array.from({ length: 12 }, (_, i) => {
    file.write(String.fromCharCode(97 + i), 20);
    return `100644 blob ${remote.blob(file)}\t${origin(i)}.jsonl`;
  });
  remote.publish(remote.tree([`040000 tree ${remote.tree(entries)}\tevents`]));
  expect(remote.bytes).toBeLessThan(8 << 20);
  expect(await refused(remote)).toMatch(/bytes of it become/);
});

it("a branch with more files than a journal can have is not taken", async () => {
  const remote = new EvilRemote();
  const blob = remote.blob(LINE);
  const entries = Array.from({ length: 5000 }, (_, i) => `100644 blob ${blob}\t${origin(i)}.jsonl`);
  remote.publish(remote.tree([`040000 tree ${remote.tree(entries)}\tevents`]));
  expect(await refused(remote)).toContain("more than 4096 files");
});

it("trees in one another that name billions of files cost nothing", async () => {
  const remote = new EvilRemote();
  const name = (i: number): string => `${String(i).padStart(2, "0")}`;
  let tree = remote.tree(Array.from({ length: 10 }, (_, i) => `100644 blob ${remote.blob(LINE)}\t${name(i)}`));
  for (let depth = 0; depth < 9; depth++)
    tree = remote.tree(Array.from({ length: 10 }, (_, i) => `040000 tree ${tree}\t${name(i)}`));
  remote.publish(remote.tree([`040000 tree ${tree}\tevents`, `040000 tree ${tree}\tmore`]));
  const at = clonedFrom(remote);
  await at.cli("event", "1", "A", "note", "ours goes out");
  expect(await at.cli("sync")).toMatchObject({ code: 0 });
  expect(gitIn(remote.path, "log", "--format=%s", "midwatch-journal").split("\n")).toHaveLength(2);
});
