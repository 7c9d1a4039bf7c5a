import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Report, ShowRecord } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { gitIn, makeRepository, put } from "../support/net/repository.ts";
import { patient } from "../support/patience.ts";
import { lookLater } from "../support/settled.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, ended, type Lab, until } from "../support/workspace.ts";

const json = <T>(text: string): T => JSON.parse(text) as T;

/** A workspace in a repository of its own. */
function labInRepository(files: Record<string, string> = {}, config = {}): Lab {
  const place = folder();
  makeRepository(place, files);
  return lab(config, place);
}

async function runDone(at: Lab, script: string, more: object = {}): Promise<ShowRecord> {
  const { agent } = await at.workspace.runs.start({ argv: ["sh", "-c", script], worktree: true, ...more });
  const [shown] = await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
  if (shown === undefined) throw new Error("not there");
  return shown;
}

const branches = (at: Lab): string[] => gitIn(at.folder, "branch", "--format=%(refname:short)").split("\n");
const trees = (at: Lab): number =>
  gitIn(at.folder, "worktree", "list", "--porcelain").match(/^worktree /gm)?.length ?? 0;

async function purge(at: Lab, agent: string, rescue = false): Promise<Report> {
  const [report] = await at.workspace.runs.stop([agent], { purge: true, rescue });
  if (report === undefined) throw new Error("no report");
  return report;
}

it("an agent works in a worktree of its own, in the same folder of it, from the commit that is checked out", async () => {
  const at = labInRepository();
  const head = gitIn(at.folder, "rev-parse", "HEAD");
  put(at.folder, "a.txt", "not committed\n");
  const started = await at.cli(
    "run",
    "--json",
    "--worktree",
    "--cwd",
    join(at.folder, "sub"),
    "--",
    "sh",
    "-c",
    "pwd; cat ../a.txt",
  );
  expect(started.code).toBe(0);
  expect(started.stderr).toContain("1 uncommitted changes");
  const record = json<RunRecord>(started.stdout);
  await at.workspace.runs.wait([record.agent], { timeoutMs: patient(20_000) });
  const path = join(at.root, "worktrees", record.agent);
  expect((await at.raw(record.agent)).toString()).toBe(`${path}/sub\none\n`);
  const intent = at.intent(record);
  expect(intent).toMatchObject({ worktree: path, cwd: join(path, "sub") });
  expect(intent.git).toEqual({ repository: join(at.folder, ".git"), base: head, branch: `midwatch/${record.agent}` });
  expect(gitIn(path, "branch", "--show-current")).toBe(`midwatch/${record.agent}`);
  const shown = await at.cli("show", record.agent);
  expect(shown.stdout).toContain(path);
  expect(shown.stdout).toContain(`midwatch/${record.agent}, 0 commits, clean`);
});

it("diff shows commits and uncommitted work, untracked files too, and changes nothing", async () => {
  const at = labInRepository({ ".env": "" }, { worktree_copy: "local.cfg" });
  put(at.folder, "local.cfg", "mine\n");
  const script = `echo more >> a.txt; git -c user.name=x -c user.email=x@x commit -qam 'second of mine'
    git mv sub/b.txt c.txt; echo new > 'new file.txt'; echo no > x.log; printf 'a\\0b' > bin; echo done`;
  const { agent, worktree } = await runDone(at, script);
  const path = worktree?.path ?? "";
  const before = gitIn(path, "status", "--porcelain");
  const objects = gitIn(at.folder, "count-objects");
  const whole = await at.cli("diff", "--json", agent);
  const found = json<Record<string, unknown> & { patch: string }>(whole.stdout);
  expect(found).toMatchObject({ agent, worktree: path, dirty: true, commits: [{ subject: "second of mine" }] });
  expect(found["files"]).toEqual([
    { path: "a.txt", from: null, status: "M", added: 1, deleted: 0 },
    { path: "bin", from: null, status: "A", added: null, deleted: null },
    { path: "c.txt", from: "sub/b.txt", status: "R", added: 0, deleted: 0 },
    { path: "new file.txt", from: null, status: "A", added: 1, deleted: 0 },
  ]);
  expect(found.patch).toContain("+more");
  expect(found.patch).not.toContain("local.cfg");
  expect((await at.cli("diff", agent)).stdout).toBe(found.patch);
  const stat = await at.cli("diff", "--stat", agent);
  expect(stat.stdout).toContain("second of mine");
  expect(stat.stdout).toContain("sub/b.txt → c.txt");
  expect(gitIn(path, "status", "--porcelain")).toBe(before);
  expect(gitIn(at.folder, "count-objects")).toBe(objects);
  expect((await at.workspace.runs.show(agent)).worktree).toMatchObject({ dirty: true, commits: 1 });
});

it("diff without a worktree, and a worktree where there can be none, are told apart from other errors", async () => {
  const at = labInRepository();
  const { agent } = await at.run("true");
  const none = await at.cli("diff", agent);
  expect(none.code).toBe(3);
  expect(none.stderr).toContain("NOT_FOUND_WORKTREE");
  const refused = async (place: string, ...more: string[]): Promise<string> => {
    const { code, stderr } = await midwatch(place, ["run", "--worktree", ...more, "--", "true"]);
    expect(code).toBe(2);
    return stderr;
  };
  const plain = folder();
  expect(await refused(plain)).toContain("not in a git repository");
  expect(readdirSync(plain)).toEqual([]);
  gitIn(plain, "init", "--quiet");
  expect(await refused(plain)).toContain("without a commit");
  const bare = folder();
  gitIn(bare, "init", "--quiet", "--bare");
  expect(await refused(bare)).toContain("bare");
  expect(await refused(at.folder, "--branch", "main")).toContain("already");
  expect(await refused(at.folder, "--branch", "a..b")).toContain("cannot be the name");
  put(at.folder, "untracked/x", "x");
  expect(await refused(join(at.folder, "untracked"))).toContain("in no commit");
  // No trace of any of them.
  expect(trees(at)).toBe(1);
  expect(branches(at)).toEqual(["main"]);
  expect(existsSync(join(at.root, "worktrees")) ? readdirSync(join(at.root, "worktrees")) : []).toEqual([]);
});

it("hooks of the repository do not run, and --branch names the branch", async () => {
  const at = labInRepository();
  const hook = join(at.folder, ".git/hooks/post-checkout");
  writeFileSync(hook, `#!/bin/sh\ntouch ${at.folder}/hooked\n`, { mode: 0o755 });
  const { worktree } = await runDone(at, "true", { branch: "feature/x" });
  expect(worktree).toMatchObject({ branch: "feature/x", dirty: false, commits: 0 });
  expect(existsSync(join(at.folder, "hooked"))).toBe(false);
});

it("eight agents at once each get their worktree", async () => {
  const at = labInRepository();
  const started = await Promise.all(
    Array.from({ length: 8 }, () => at.cli("run", "--json", "--worktree", "--", "sh", "-c", "echo $$ > mine")),
  );
  expect(started.map(({ code, stderr }) => [code, stderr])).toEqual(started.map(() => [0, ""]));
  expect(trees(at)).toBe(9);
  expect(branches(at)).toHaveLength(9);
});

it("another git that is in the middle of making a worktree is waited for", async () => {
  const at = labInRepository();
  const half = (name: string, content: string): void => put(at.folder, `.git/worktrees/half/${name}`, content);
  half("gitdir", join(at.folder, "half/.git\n"));
  half("HEAD", "ref: refs/heads/half\n");
  half("commondir", "");
  expect(() => gitIn(at.folder, "worktree", "list")).toThrow("commondir");
  const started = at.cli("run", "--json", "--worktree", "--", "true");
  await sleep(500);
  half("commondir", "../..\n");
  expect(await started).toMatchObject({ code: 0, stderr: "" });
});

it("worktree_copy and worktree_setup prepare it; neither leaves the project nor follows a link", async () => {
  const outside = folder();
  put(outside, "secret", "outside");
  const at = labInRepository(
    {},
    { worktree_copy: ".env, conf/local.json,a.txt,missing", worktree_setup: "cat .env > made.log; echo set up" },
  );
  put(at.folder, ".env", "A=1\n");
  put(at.folder, "conf/local.json", "{}");
  put(at.folder, "a.txt", "changed in the project\n");
  const { agent, task, worktree } = await runDone(at, "cat .env conf/local.json a.txt made.log");
  expect((await at.raw(agent)).toString()).toBe("A=1\n{}one\nA=1\n");
  expect(at.fact({ task, agent, run: 1 }, "setup.log")).toBe("set up\n");
  // A copy that nobody changed is no work: it goes with the worktree.
  expect(worktree?.dirty).toBe(false);
  expect((await purge(at, agent)).worktree).toMatchObject({ action: "removed" });
  for (const path of ["../x", outside, "link/secret", "flat"]) {
    if (path === "link/secret") symlinkSync(outside, join(at.folder, "link"));
    if (path === "flat") symlinkSync(join(outside, "secret"), join(at.folder, "flat"));
    using workspace = at.open({ config: { worktree_copy: path } });
    await expect(workspace.runs.start({ argv: ["true"], worktree: true })).rejects.toMatchObject({
      code: "UNSAFE_PATH",
    });
  }
  expect(trees(at)).toBe(1);
  expect(branches(at)).toEqual(["main"]);
});

it("a setup that fails refuses the start with its last lines, and nothing is left but its log", async () => {
  const at = labInRepository();
  const setup = "echo lots > unignored; echo password=hunter2hunter2; echo bad luck >&2; exit 3";
  writeConfig(at.folder, { worktree_setup: setup });
  const { code, stdout, stderr } = await at.cli("run", "--worktree", "--", "true");
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("worktree_setup failed (exit 3)");
  expect(stderr).toContain("bad luck");
  expect(stderr).not.toContain("hunter2");
  const log = /in (\S+setup\.log)/.exec(stderr)?.[1] ?? "";
  expect(readFileSync(log, "utf8")).toContain("bad luck\n");
  expect(await at.workspace.runs.list({ all: true })).toEqual([]);
  expect([trees(at), branches(at)]).toEqual([1, ["main"]]);
});

it("a launch that fails takes its worktree back", async () => {
  const at = labInRepository();
  writeFileSync(join(at.folder, "only-here"), "#!/bin/sh\n", { mode: 0o755 });
  const record = await at.workspace.runs.start({ argv: ["./only-here"], worktree: true });
  expect(record.phase).toBe("launch_failed");
  expect([trees(at), branches(at)]).toEqual([1, ["main"]]);
  await expect(at.workspace.runs.restart(record.agent)).rejects.toMatchObject({ code: "NOT_FOUND_WORKTREE" });
});

it("a launcher that dies over a long setup: the worktree is taken back when the launch is given up", async () => {
  const at = labInRepository();
  writeConfig(at.folder, { worktree_setup: "echo $$ > started; exec sleep 300" });
  const launcher = at.node(CLI, "--workspace", at.root, "run", "--worktree", "--", "true");
  const gone = ended(launcher);
  const started = (): string | undefined => {
    const place = join(at.root, "worktrees");
    const [agent] = existsSync(place) ? readdirSync(place) : [];
    const file = join(place, agent ?? "", "started");
    return agent && existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  };
  await until(() => started(), 20_000, "the setup runs");
  const setup = Number(started());
  launcher.kill("SIGKILL");
  await gone;
  process.kill(setup, "SIGKILL");
  await lookLater(at);
  expect([trees(at), branches(at)]).toEqual([1, ["main"]]);
  expect(await at.workspace.runs.list({ all: true })).toEqual([]);
});

it("a launch is not given up while its setup goes on, however long", async () => {
  const at = labInRepository();
  writeConfig(at.folder, { worktree_setup: "sleep 12" });
  const running = at.cli("run", "--json", "--worktree", "--", "echo", "there");
  const looked = setInterval(() => void at.workspace.runs.list().catch(() => undefined), 500);
  const { code, stdout } = await running.finally(() => clearInterval(looked));
  expect(code).toBe(0);
  const { agent } = json<{ agent: string }>(stdout);
  await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
  expect((await at.raw(agent)).toString()).toBe("there\n");
});

it("restart goes on in the same worktree", async () => {
  const at = labInRepository();
  const { agent, worktree } = await runDone(at, "echo run >> mine; cat mine");
  await at.workspace.runs.restart(agent);
  await at.workspace.runs.wait([agent], { timeoutMs: patient(20_000) });
  expect((await at.raw(agent)).toString()).toBe("run\nrun\n");
  expect((await at.workspace.runs.show(agent)).worktree?.path).toBe(worktree?.path);
});

it("purge removes a worktree without work of its own, and its branch", async () => {
  const at = labInRepository();
  const clean = await runDone(at, "echo x > ignored.log");
  expect((await purge(at, clean.agent)).worktree).toMatchObject({ action: "removed" });
  const merged = await runDone(at, "echo x > x && git add x && git -c user.name=x -c user.email=x@x commit -qm mine");
  const kept = await purge(at, merged.agent);
  expect(kept.worktree).toMatchObject({ action: "kept", why: expect.stringContaining("commits") });
  gitIn(at.folder, "merge", "--quiet", merged.worktree?.branch ?? "");
  expect((await purge(at, merged.agent)).worktree).toMatchObject({ action: "removed" });
  expect((await purge(at, merged.agent)).worktree).toMatchObject({ action: "missing" });
  expect([trees(at), branches(at)]).toEqual([1, ["main"]]);
});

it.each([
  ["an untracked file", "echo work > new"],
  ["a changed file", "echo work >> a.txt"],
  [
    "a staged change that is gone from the file",
    "echo work >> a.txt; git add a.txt; git checkout -q HEAD~0 -- sub; echo other > a.txt",
  ],
  ["a file that git was told not to look at", "echo work >> a.txt; git update-index --assume-unchanged a.txt"],
  [
    "a commit on no branch",
    "git checkout -q --detach; echo w > w; git add w; git -c user.name=x -c user.email=x@x commit -qm w",
  ],
  ["a repository within", "git init -q inner; echo work > inner/w"],
  ["no .git any more", "rm .git; echo work > new"],
])("a worktree with %s is kept by purge", async (_, script) => {
  const at = labInRepository();
  const { agent, worktree } = await runDone(at, script);
  const path = worktree?.path ?? "";
  const before = readdirSync(path, { recursive: true }).length;
  const report = await purge(at, agent);
  expect(report).toMatchObject({ verified: true, worktree: { path, action: "kept" } });
  expect(readdirSync(path, { recursive: true })).toHaveLength(before);
});

it("rescue saves everything that is not ignored as a branch, and then the worktree goes", async () => {
  const at = labInRepository({}, { worktree_copy: "local.cfg" });
  put(at.folder, "local.cfg", "password\n");
  const script = `echo c > c; git add c; git -c user.name=x -c user.email=x@x commit -qm c
    echo staged > a.txt; git add a.txt; echo last > a.txt; echo new > new; echo no > no.log; rm sub/b.txt`;
  const { agent } = await runDone(at, script);
  const { code, stdout } = await at.cli("stop", "--purge", "--rescue", agent);
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining(`rescued: its work is in the branch midwatch/rescue/${agent}`),
  ]);
  expect(branches(at)).toEqual(["main", `midwatch/rescue/${agent}`]);
  const show = (path: string, back = ""): string => gitIn(at.folder, "show", `midwatch/rescue/${agent}${back}:${path}`);
  expect([show("a.txt"), show("new"), show("c"), show("a.txt", "~1"), show("a.txt", "~2")]).toEqual([
    "last",
    "new",
    "c",
    "staged",
    "one",
  ]);
  expect(gitIn(at.folder, "ls-tree", "-r", "--name-only", `midwatch/rescue/${agent}`).split("\n")).toEqual([
    ".gitignore",
    "a.txt",
    "c",
    "new",
  ]);
  expect(trees(at)).toBe(1);
  expect(existsSync(join(at.root, "worktrees", agent))).toBe(false);
});

it("rescue of a worktree that holds another repository saves the rest and keeps it", async () => {
  const at = labInRepository();
  const { agent, worktree } = await runDone(
    at,
    "git init -q inner; cd inner; echo work > w; git add w; git -c user.name=x -c user.email=x@x commit -qm w",
  );
  const path = worktree?.path ?? "";
  expect((await purge(at, agent, true)).worktree).toMatchObject({ action: "kept" });
  expect(readFileSync(join(path, "inner/w"), "utf8")).toBe("work\n");
  expect(gitIn(path, "branch", "--show-current")).toBe(`midwatch/${agent}`);
});

it("a worktree in which something still works is kept", async () => {
  const at = labInRepository();
  const { agent, worktree } = await runDone(at, "true");
  const child = await at.workspace.runs.start({ argv: ["sleep", "300"], cwd: worktree?.path });
  expect((await purge(at, agent)).worktree).toMatchObject({
    action: "kept",
    why: expect.stringContaining("works in it"),
  });
  await at.workspace.runs.stop([child.agent], { graceMs: 0 });
  expect((await purge(at, agent)).worktree).toMatchObject({ action: "removed" });
});

it("a fact that names another place is not believed: purge takes nothing but the agent's own worktree", async () => {
  const at = labInRepository();
  const other = await runDone(at, "true");
  const { agent, task, worktree } = await runDone(at, "true");
  const file = join(at.root, task, "runs", agent, "worktree.json");
  const fact = json<object>(readFileSync(file, "utf8"));
  const precious = join(at.root, "precious");
  writeFileSync(precious, "x");
  const sha256 = createHash("sha256").update("x").digest("hex");
  const copied = [{ path: "../../precious", sha256 }];
  gitIn(at.folder, "branch", "release");
  writeFileSync(file, JSON.stringify({ ...fact, path: other.worktree?.path, copied, branch: "release" }));
  expect((await at.workspace.runs.show(agent)).worktree?.path).toBe(worktree?.path);
  expect((await purge(at, agent)).worktree).toMatchObject({ path: worktree?.path, action: "removed" });
  expect([existsSync(precious), existsSync(other.worktree?.path ?? "")]).toEqual([true, true]);
  expect(branches(at)).toContain("release");
});

it("a fact that names another repository changes nothing there when the worktree is gone", async () => {
  const at = labInRepository();
  const other = labInRepository();
  const { agent, task, worktree } = await runDone(at, "true");
  const file = join(at.root, task, "runs", agent, "worktree.json");
  const fact = json<object>(readFileSync(file, "utf8"));
  gitIn(other.folder, "branch", `midwatch/${agent}`);
  writeFileSync(file, JSON.stringify({ ...fact, repository: join(other.folder, ".git") }));
  rmSync(worktree?.path ?? "", { recursive: true });
  expect((await purge(at, agent)).worktree).toMatchObject({ action: "missing" });
  expect(branches(other)).toContain(`midwatch/${agent}`);
});

it("a registry that cannot be told during a long setup does not end the launcher", async () => {
  const at = labInRepository();
  const db = join(at.root, "midwatch.db");
  const setup = `mv ${db} ${db}.aside && ln -s nowhere ${db} && sleep 3 && rm ${db} && mv ${db}.aside ${db}`;
  writeConfig(at.folder, { worktree_setup: setup });
  const { code, stderr } = await at.cli("run", "--worktree", "--wait", "--", "true");
  expect({ code, stderr: stderr.replace(/^Next:.*\n/m, "") }).toEqual({ code: 0, stderr: "" });
});

it("a worktree replaced by a link is left alone", async () => {
  const at = labInRepository();
  const outside = folder();
  put(outside, "x", "x");
  const { agent, worktree } = await runDone(at, "true");
  rmSync(worktree?.path ?? "", { recursive: true });
  symlinkSync(outside, worktree?.path ?? "");
  expect((await purge(at, agent, true)).worktree).toMatchObject({ action: "kept" });
  expect(readFileSync(join(outside, "x"), "utf8")).toBe("x");
});
