import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SyncStatus } from "../../src/fleet/workspace.ts";
import { midwatch } from "../support/cli.ts";
import { fileOf } from "../support/data/journal.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { gitIn, makeRepository, put } from "../support/net/repository.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, until } from "../support/workspace.ts";

const json = <T>(text: string): T => JSON.parse(text) as T;
const TOKEN = `ghp_${"a1B2c3D4e5".repeat(4)}`;

function bare(at = folder()): string {
  const path = join(at, "remote.git");
  execFileSync("git", ["init", "--quiet", "--bare", path]);
  return path;
}

function cloned(remote: string): Lab {
  const place = folder();
  makeRepository(place);
  gitIn(place, "remote", "add", "origin", remote);
  return lab({}, place);
}

/** Every file of a folder with its content. */
function contents(at: string): Record<string, string> {
  const files = globSync("**/*", { cwd: at }).filter((path) => statSync(join(at, path)).isFile());
  const hash = (path: string): string =>
    createHash("sha256")
      .update(readFileSync(join(at, path)))
      .digest("hex");
  return Object.fromEntries(files.sort().map((path) => [path, hash(path)]));
}

it("R-003.15: two machines see what both wrote, masked; the project's own repository is not touched and its hooks do not run", async () => {
  const remote = bare();
  const [a, b] = [cloned(remote), cloned(remote)];
  put(a.folder, "a.txt", "stashed\n");
  gitIn(a.folder, "stash");
  put(a.folder, "a.txt", "staged\n");
  gitIn(a.folder, "add", "a.txt");
  for (const hook of ["pre-push", "post-commit", "reference-transaction", "pre-commit", "pre-auto-gc"])
    writeFileSync(join(a.folder, ".git/hooks", hook), `#!/bin/sh\ntouch ${a.folder}/hook-ran\nexit 1\n`, {
      mode: 0o755,
    });
  const before = contents(join(a.folder, ".git"));
  writeFileSync(join(a.root, "events.log"), `${shellLine(`the key is ${TOKEN}`)}\n`);

  const first = await midwatch(a.folder, ["sync", "--json"]);
  expect(first).toMatchObject({ code: 0 });
  expect(json<SyncStatus>(first.stdout)).toMatchObject({ state: "ok", synced: 1, waiting: 0 });
  await midwatch(b.folder, ["sync"]);
  await midwatch(b.folder, ["event", "1", "Agent B", "answer", "I see it"]);
  await midwatch(b.folder, ["sync"]);
  await midwatch(a.folder, ["sync"]);

  const read = await midwatch(a.folder, ["events", "--json"]);
  const events = read.stdout
    .trim()
    .split("\n")
    .map((line) => json<{ content: string; origin: string }>(line));
  expect(events.map(({ content }) => content)).toEqual(["the key is [masked]", "I see it"]);
  expect(new Set(events.map(({ origin }) => origin)).size).toBe(2);
  for (const at of [a, b]) await midwatch(at.folder, ["snapshot"]);
  expect(fileOf(a.root, "communication.md")).toContain("I see it");
  expect(fileOf(b.root, "communication.md")).toBe(fileOf(a.root, "communication.md"));
  expect(gitShow(remote, "communication.md")).toBe(fileOf(a.root, "communication.md"));
  expect(gitIn(remote, "grep", "-c", "masked", "midwatch-journal")).toContain(":1");
  expect(() => gitIn(remote, "grep", TOKEN, "midwatch-journal")).toThrow();
  expect(contents(join(a.folder, ".git"))).toEqual(before);
  expect(existsSync(join(a.folder, "hook-ran"))).toBe(false);

  const plus = json<{ interaction: number }>(
    (await midwatch(a.folder, ["event", "+", "Agent A", "question", "next", "--json"])).stdout,
  );
  expect(plus.interaction).toBe(2);
  expect(json<SyncStatus>((await midwatch(a.folder, ["sync", "--status", "--json"])).stdout)).toMatchObject({
    state: "ok",
    synced: 1,
    waiting: 1,
  });
});

const gitShow = (remote: string, path: string): string =>
  execFileSync("git", ["--git-dir", remote, "show", `midwatch-journal:${path}`], { encoding: "utf8" });

it("R-003.5, R-003.15, R-003.23: the branch can be read by people: communication.md and archive.md at the remote are those of every machine", async () => {
  const remote = bare();
  const [a, b] = [cloned(remote), cloned(remote)];
  for (let n = 1; n <= 5; n++) {
    const at = n % 2 === 0 ? a : b;
    await midwatch(at.folder, ["event", String(n), "Agent A", "question", `How do I start server ${n}?`]);
    await midwatch(at.folder, ["sync"]);
  }
  // Text of one machine alone, and what somebody put where the view is made, stay here.
  appendFileSync(join(a.root, "communication.md"), "a note of mine\n");
  appendFileSync(join(a.root, "sync/view/communication.md"), "not from the journal\n");
  for (const at of [a, b, a]) expect(await midwatch(at.folder, ["sync"])).toMatchObject({ code: 0 });
  expect(fileOf(b.root, "archive.md")).toContain("## Interaction #2\n");
  for (const name of ["communication.md", "archive.md"]) {
    expect(gitShow(remote, name)).toBe(fileOf(b.root, name));
    expect(fileOf(a.root, name).replace("a note of mine\n", "")).toBe(gitShow(remote, name));
  }
  // Nothing new: nothing is pushed, whoever looks.
  const tip = gitIn(remote, "rev-parse", "midwatch-journal");
  for (const at of [a, b]) await midwatch(at.folder, ["sync"]);
  expect(gitIn(remote, "rev-parse", "midwatch-journal")).toBe(tip);
  await midwatch(a.folder, ["event", "6", "Agent A", "question", "and now?"]);
  await midwatch(a.folder, ["sync"]);
  expect(gitShow(remote, "communication.md")).toContain("and now?");
  expect(gitShow(remote, "communication.md")).not.toContain("not from the journal");
});

const shellLine = (content: string): string =>
  JSON.stringify({ interaction: 1, actor: "A", type: "question", content, timestamp: "2026-11-15T19:00:00Z" });

it("R-003.17: in a synced workspace, too, a bad line is told once and stays out of the exchange", async () => {
  const remote = bare();
  const at = cloned(remote);
  writeFileSync(join(at.root, "events.log"), `${shellLine("good")}\nbad\n`);
  for (let i = 0; i < 2; i++) {
    await midwatch(at.folder, ["sync"]);
    await midwatch(at.folder, ["snapshot"]);
  }
  expect(fileOf(at.root, "events.error.log").trim().split("\n")).toHaveLength(1);
  const { stdout } = await midwatch(at.folder, ["events", "--json"]);
  expect(
    stdout
      .trim()
      .split("\n")
      .map((line) => json<{ type: string }>(line).type),
  ).toEqual(["question", "error"]);
});

it("R-003.1: `sync --init` makes repository, first commit, base files, scripts and with gh the remote, and syncs", async () => {
  const home = folder();
  const bin = join(home, "bin");
  mkdirSync(bin);
  const script = `#!/bin/sh
[ "$1" = --version ] && echo "gh version 2.0.0" && exit 0
echo "$@" >> ${home}/asked
git init --quiet --bare ${home}/made.git && git -C "$6" remote add origin ${home}/made.git
`;
  writeFileSync(join(bin, "gh"), script, { mode: 0o755 });
  const env = { ...process.env, HOME: home, PATH: `${bin}:${process.env["PATH"]}`, GIT_CONFIG_NOSYSTEM: "1" };
  const project = join(folder(), "project");
  mkdirSync(project);
  const made = await midwatch(project, ["sync", "--init", "--json"], env);
  expect(made).toMatchObject({ code: 0 });
  expect(json<SyncStatus>(made.stdout)).toMatchObject({ state: "ok" });
  expect(fileOf(home, "asked")).toBe(`repo create project --private --source ${project} --remote origin\n`);
  expect(gitIn(`${home}/made.git`, "branch", "--format=%(refname:short)")).toBe("main\nmidwatch-journal");
  expect(gitIn(project, "log", "--format=%s")).toBe("chore: initial commit");
  expect(gitIn(project, "status", "--porcelain")).toBe("");
  expect(gitIn(project, "ls-files").split("\n")).toEqual([
    ...[
      "README.md",
      "archive.md",
      "communication.md",
      "events.log",
      "scripts/generate_snapshot.sh",
      "scripts/log_event.sh",
    ],
  ]);
  for (const name of ["events.log", "communication.md", "archive.md"])
    expect(existsSync(join(project, ".agent-workspace", name))).toBe(true);
  expect(existsSync(join(project, "scripts/log_event.sh"))).toBe(true);
  // Once more: nothing is made again.
  await midwatch(project, ["sync", "--init"], env);
  expect(fileOf(home, "asked").trim().split("\n")).toHaveLength(1);
});

it("R-003.1: `sync --init` in a project with work in it says first what it will do, and commits its own files alone; no remote is needed", async () => {
  const place = folder();
  makeRepository(place);
  put(place, "a.txt", "staged\n");
  gitIn(place, "add", "a.txt");
  put(place, "a.txt", "and changed\n");
  mkdirSync(join(place, "scripts"));
  put(place, "scripts/log_event.sh", "mine\n");
  put(place, "archive.md", "mine too\n");
  writeFileSync(join(place, ".git/hooks/pre-commit"), `#!/bin/sh\ntouch ${place}/hook-ran\nexit 1\n`, { mode: 0o755 });
  const before = gitIn(place, "status", "--porcelain", "a.txt");
  const env = { ...process.env, PATH: "/usr/bin:/bin" };
  const made = await midwatch(place, ["sync", "--init"], env);
  expect(made.code).toBe(0);
  const lines = made.stderr.split("\n");
  expect(lines.findIndex((line) => line.includes("will "))).toBeLessThan(
    lines.findIndex((line) => line.includes("committed ")),
  );
  expect(made.stderr).toContain("git remote add");
  expect(gitIn(place, "show", "--name-only", "--format=", "HEAD").split("\n").filter(Boolean)).toEqual([
    ...["communication.md", "scripts/generate_snapshot.sh"], // The project ignores *.log.
  ]);
  expect(gitIn(place, "status", "--porcelain", "a.txt")).toBe(before);
  for (const [path, text] of [
    ["scripts/log_event.sh", "mine\n"],
    ["archive.md", "mine too\n"],
    ["a.txt", "and changed\n"],
  ] as const)
    expect(fileOf(place, path)).toBe(text);
  expect(existsSync(join(place, "hook-ran"))).toBe(false);
  // The seed's reader finds the journal in the project; the user's branch has but the links.
  await midwatch(place, ["event", "1", "A", "question", "live"]);
  await midwatch(place, ["snapshot"]);
  expect(fileOf(place, "events.log")).toContain("live");
  expect(fileOf(place, "communication.md")).toContain("live");
  expect(gitIn(place, "diff", "HEAD", "--", "communication.md")).toBe("");
  expect(gitIn(place, "show", "HEAD:communication.md")).toBe(".agent-workspace/communication.md");
  const head = gitIn(place, "rev-parse", "HEAD");
  expect((await midwatch(place, ["sync", "--init"], env)).code).toBe(0);
  expect(gitIn(place, "rev-parse", "HEAD")).toBe(head);
});

it("R-003.1: without a remote and without gh it says what to do", async () => {
  const place = folder();
  makeRepository(place);
  const at = lab({}, place);
  const plain = await midwatch(at.folder, ["sync", "--json"]);
  expect(plain).toMatchObject({ code: 3, stdout: "" });
  expect(json(plain.stderr)).toMatchObject({ error: { code: "NOT_FOUND_REMOTE" } });
  const status = await midwatch(at.folder, ["sync", "--status", "--json"]);
  expect(json<SyncStatus>(status.stdout)).toMatchObject({ state: "never" });
  const option = await midwatch(at.folder, ["sync", "--remote=--upload-pack=touch x"]);
  expect(option.code).toBe(2);
});

it("R-003.15: `midwatch up` syncs when a remote is set, and `health` tells how it stands", async () => {
  const remote = bare();
  const at = cloned(remote);
  writeConfig(at.folder, { sync_remote: "origin", sync_every: "200ms" });
  const up = at.node(CLI, "up", "--no-http", "--workspace", at.root, "--leader-ttl", "1s");
  const health = (): ReturnType<Lab["workspace"]["up"]["health"]> => at.workspace.up.health();
  await until(async () => (await health()).sync?.state === "ok", 40_000);
  await at.workspace.journal.append({ interaction: 1, actor: "A", type: "question", content: "from up" });
  const pushed = (): string => {
    const [path = ""] = gitIn(remote, "ls-tree", "--name-only", "midwatch-journal", "events/").split("\n");
    return path === "" ? "" : gitIn(remote, "show", `midwatch-journal:${path}`);
  };
  await until(() => pushed().includes("from up"), 40_000);
  execFileSync("mv", [remote, `${remote}.away`]);
  await until(async () => (await health()).sync?.state === "stopped", 40_000);
  expect(await health()).toMatchObject({ state: "warning", sync: { fault: "gone" } });
  up.kill("SIGTERM");
  await until(() => up.exitCode !== null || up.signalCode !== null, 20_000);
});
