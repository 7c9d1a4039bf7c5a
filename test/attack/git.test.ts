/**
 * A repository, or an agent that could write its configuration, sets everything that makes git run a program. Whatever of ours calls git:
 * none of it runs. That each trap works is shown by git itself, called by hand.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { gitIn, makeRepository, put } from "../support/net/repository.ts";
import type { Lab } from "../support/workspace.ts";

const HOOKS =
  "applypatch-msg commit-msg fsmonitor-watchman post-checkout post-commit post-index-change post-merge post-rewrite pre-auto-gc pre-commit pre-push pre-rebase prepare-commit-msg reference-transaction";

class Trap {
  readonly #marks = folder();
  readonly program = join(folder(), "trap");

  constructor() {
    // Gives back what it is given, so that a filter that runs goes unnoticed but for its mark.
    writeFileSync(this.program, `#!/bin/sh\ntouch '${this.#marks}'/"$1"\ncase $1 in *clean | *smudge) cat ;; esac\n`);
    // Of some settings git takes no arguments.
    writeFileSync(`${this.program}-gpg`, `#!/bin/sh\nexec '${this.program}' gpg\n`);
    for (const program of [this.program, `${this.program}-gpg`]) chmodSync(program, 0o755);
  }

  /** What ran since the last time. */
  ran(): string[] {
    const found = readdirSync(this.#marks).sort();
    for (const name of found) rmSync(join(this.#marks, name));
    return found;
  }

  /** Everything in the configuration of a repository that names a program. */
  set(git: string, { filters = true, url = "none" } = {}): void {
    const run = (name: string): string => `"${this.program} ${name}"`;
    const hooks = join(git, "evil-hooks");
    for (const place of [hooks, join(git, "hooks")]) {
      mkdirSync(place, { recursive: true });
      for (const hook of HOOKS.split(" "))
        writeFileSync(join(place, hook), `#!/bin/sh\nexec '${this.program}' hook\n`, { mode: 0o755 });
    }
    const filter = `[filter "evil"]\n\tclean = ${run("clean")}\n\tsmudge = ${run("smudge")}\n\trequired = true
[filter "long"]\n\tprocess = ${run("process")}
[filter "a=b"]\n\tclean = ${run("equals-clean")}\n\tsmudge = ${run("equals-smudge")}\n`;
    appendFileSync(
      join(git, "config"),
      `[core]\n\thooksPath = ${hooks}\n\tfsmonitor = ${run("fsmonitor")}\n\tsshCommand = ${run("ssh")}\n\tpager = ${run("pager")}
\teditor = ${run("editor")}\n\taskPass = ${run("askpass")}\n\tgitProxy = ${run("proxy")}\n\talternateRefsCommand = ${run("refs")}
[diff]\n\texternal = ${run("external")}\n[diff "evil"]\n\tcommand = ${run("diff")}\n\ttextconv = ${run("textconv")}
[merge "evil"]\n\tdriver = ${run("merge")}\n[merge]\n\tdefault = evil
[gpg]\n\tprogram = ${this.program}-gpg\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[log]\n\tshowSignature = true
[credential]\n\thelper = ${run("credential")}\n[pager]\n\tstatus = ${run("pager")}\n\tdiff = ${run("pager")}\n\tlog = ${run("pager")}
[alias]\n\tstatus = "!${this.program} alias"\n[sequence]\n\teditor = ${run("editor")}\n[gc]\n\trecentObjectsHook = ${run("gc")}
[protocol]\n\tallow = always\n[protocol "ext"]\n\tallow = always\n[submodule]\n\trecurse = true
[remote "${url}"]\n\tuploadpack = ${run("uploadpack")}\n\treceivepack = ${run("receivepack")}
${filters ? filter : ""}`,
    );
  }
}

const ATTRIBUTES = "* filter=evil diff=evil merge=evil\n*.long filter=long\n*.eq filter=a=b\n";

/** A project whose commits carry attributes, and whose configuration sets every trap. */
function stage(options: { filters?: boolean; url?: string } = {}): { at: Lab; trap: Trap } {
  const place = folder();
  const trap = new Trap();
  makeRepository(place, { ".gitattributes": ATTRIBUTES, "x.long": "long\n", "x.eq": "equals\n" });
  trap.set(join(place, ".git"), options);
  return { at: lab({}, place), trap };
}

async function agentIn(at: Lab, script: string): Promise<string> {
  const { agent } = await at.workspace.runs.start({ argv: ["sh", "-c", script], worktree: true });
  await at.workspace.runs.wait([agent]);
  return agent;
}

/** All of ours that asks git about an agent. */
async function everything(at: Lab, agent: string): Promise<void> {
  for (const words of [["show", agent], ["diff", agent], ["diff", "--stat", agent], ["ls", "--all"], ["status"]]) {
    const { code, stderr } = await at.cli(...words);
    expect([words, code, stderr]).toEqual([words, 0, expect.anything()]);
  }
  await at.cli("up", "--once", "--no-http");
  await at.cli("prune", "--older-than", "0s");
}

const CHANGES = "echo two >a.txt; echo more >>x.long; echo more >>x.eq; echo new >new.txt; echo new >new.eq";

it("the traps work: git by hand runs them", async () => {
  const { at, trap } = stage();
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  for (const path of ["a.txt", "x.long", "x.eq"]) appendFileSync(join(at.folder, path), "more\n");
  const who = ["-c", "user.name=x", "-c", "user.email=x@x"];
  for (const args of [
    ["status"],
    ["-c", "core.fsmonitor=false", "diff", "a.txt"],
    ["add", "a.txt"],
    ["add", "x.long"],
    ["add", "x.eq"],
    [...who, "-c", "core.hooksPath=/dev/null", "commit", "-m", "x"],
  ])
    spawnSync("git", args, { cwd: at.folder, env, stdio: "ignore" });
  const expected = ["clean", "diff", "equals-clean", "fsmonitor", "gpg", "hook", "process"];
  expect(trap.ran()).toEqual(expect.arrayContaining(expected));
});

it("a worktree is made, looked at, compared, kept and not rescued without a program of the repository's", async () => {
  const { at, trap } = stage();
  const agent = await agentIn(at, CHANGES);
  expect((await at.workspace.runs.show(agent)).worktree).toMatchObject({ dirty: true, commits: 0 });
  await everything(at, agent);
  const diff = await at.cli("diff", "--stat", agent);
  expect(diff.stdout).toContain("new.eq");
  for (const rescue of [[], ["--rescue"]]) await at.cli("stop", "--purge", ...rescue, agent);
  expect(trap.ran()).toEqual([]);
  // What a filter may be there to keep out of the history is not committed without it.
  expect(existsSync(join(at.root, "worktrees", agent))).toBe(true);
  expect(gitIn(at.folder, "for-each-ref", "refs/heads/midwatch/rescue")).toBe("");
});

it("a worktree is rescued and removed without a program of the repository's", async () => {
  const { at, trap } = stage({ filters: false });
  const signed = spawnSync("git", ["cat-file", "commit", "HEAD"], { cwd: at.folder, encoding: "utf8" }).stdout;
  const header = signed.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n");
  put(at.folder, "signed", header);
  const commit = gitIn(at.folder, "hash-object", "-t", "commit", "-w", "signed");
  trap.ran();
  const agent = await agentIn(
    at,
    `${CHANGES}; git -c core.fsmonitor=false -c core.hooksPath=/dev/null reset -q --soft ${commit}`,
  );
  trap.ran();
  await everything(at, agent);
  const report = await at.cli("stop", "--purge", "--rescue", "--json", agent);
  expect(trap.ran()).toEqual([]);
  expect([report.code, report.stdout]).toEqual([0, expect.stringContaining("rescued")]);
  expect(existsSync(join(at.root, "worktrees", agent))).toBe(false);
});

it("a submodule that an agent made, with a configuration of its own, runs nothing, and is kept", async () => {
  const { at, trap } = stage({ filters: false });
  const inner = new Trap();
  const script = `mkdir inner && cd inner && git init -q && echo x >f && printf '* filter=evil\\n' >.gitattributes && git add f &&
    git -c user.name=x -c user.email=x@x commit -qm x && cd .. && git -c core.fsmonitor=false -c core.hooksPath=/dev/null add inner`;
  const agent = await agentIn(at, script);
  const path = join(at.root, "worktrees", agent, "inner");
  inner.set(join(path, ".git"));
  put(path, "f", "y\n"); // As long as before: only then git has to read it.
  put(path, "g", "new\n");
  trap.ran();
  await everything(at, agent);
  for (const rescue of [[], ["--rescue"]]) await at.cli("stop", "--purge", ...rescue, agent);
  expect([trap.ran(), inner.ran()]).toEqual([[], []]);
  expect(existsSync(join(path, "g"))).toBe(true);
});

it("a worktree whose .git an agent led to a repository of its own is not asked", async () => {
  const { at, trap } = stage({ filters: false });
  const own = new Trap();
  const agent = await agentIn(at, "rm .git; git init -q; printf '* filter=evil\\n' >.gitattributes; echo x >a.txt");
  const path = join(at.root, "worktrees", agent);
  own.set(join(path, ".git"));
  trap.ran();
  await at.cli("show", agent);
  await at.cli("diff", agent);
  await at.cli("stop", "--purge", "--rescue", agent);
  expect([trap.ran(), own.ran()]).toEqual([[], []]);
  expect(existsSync(path)).toBe(true);
});

it("a folder that is a bare repository, as one can be committed, is not taken for the project's", async () => {
  const at = lab();
  const trap = new Trap();
  const bare = join(at.folder, "embedded");
  gitIn(at.folder, "init", "--quiet", "--bare", bare);
  appendFileSync(join(bare, "config"), `[core]\n\tbare = false\n\tworktree = ${at.folder}\n`);
  trap.set(bare);
  const { code, stderr } = await at.cli("run", "--worktree", "--cwd", bare, "--", "true");
  expect([code, stderr]).toEqual([2, expect.stringContaining("is in a bare repository")]);
  expect(trap.ran()).toEqual([]);
});

it("objects that are missing are not fetched with a program that the repository names", async () => {
  const { at, trap } = stage({ filters: false });
  const blob = gitIn(at.folder, "rev-parse", "HEAD:a.txt");
  rmSync(join(at.folder, ".git/objects", blob.slice(0, 2), blob.slice(2)));
  appendFileSync(
    join(at.folder, ".git/config"),
    `[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = lazy\n[remote "lazy"]\n\turl = ${at.folder}\n\tpromisor = true\n\tuploadpack = "${trap.program} lazy"\n`,
  );
  trap.ran();
  await at.cli("run", "--worktree", "--", "true");
  expect(trap.ran()).toEqual([]);
});

it("the journal is synced with a path, and no program that the project's configuration names for it runs", async () => {
  const remote = join(folder(), "remote.git");
  gitIn(folder(), "init", "--quiet", "--bare", remote);
  const { at, trap } = stage({ url: remote });
  await at.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "x" });
  for (let i = 0; i < 2; i++) {
    const { code, stderr } = await at.cli("sync", "--remote", remote);
    expect([code, stderr]).toEqual([0, expect.anything()]);
  }
  expect(trap.ran()).toEqual([]);
});

it("an address that would be a command is refused, also by way of the project's configuration", async () => {
  const { at, trap } = stage();
  const command = `ext::${trap.program} ext`;
  appendFileSync(join(at.folder, ".git/config"), `[url "${command}"]\n\tinsteadOf = harmless:\n`);
  for (const remote of [command, "harmless:x"]) expect((await at.cli("sync", "--remote", remote)).code).not.toBe(0);
  expect(trap.ran()).toEqual([]);
});

it("`sync --init` commits its own files without a program of the repository's", async () => {
  const { at, trap } = stage();
  const { code } = await at.cli("sync", "--init");
  expect(code).toBe(0);
  expect(gitIn(at.folder, "log", "--format=%s", "-1")).toContain("midwatch journal");
  expect(trap.ran()).toEqual([]);
});
