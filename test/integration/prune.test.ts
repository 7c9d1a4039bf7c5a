import { execFileSync } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ExitFact } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { counts, told } from "../support/data/events.ts";
import { snapshot } from "../support/data/snapshot.ts";
import { lab } from "../support/lab.ts";
import { type Lab, text, until } from "../support/workspace.ts";

const DAY = 86_400_000;

async function over(
  at: Lab,
  days: number,
  options: { task?: string; script?: string; worktree?: boolean } = {},
): Promise<RunRecord> {
  const { task, script = "echo some output", worktree } = options;
  const argv = ["sh", "-c", script];
  const record = await at.workspace.runs.start({
    argv,
    prompt: "p",
    worktree,
    ...(task ? { task: task as never } : {}),
  });
  await at.workspace.runs.wait([record.agent]);
  age(at, record, days);
  return record;
}

/** As if it had ended so long ago. */
function age(at: Lab, record: RunRecord, days: number): void {
  const ended_at = new Date(Date.now() - days * DAY).toISOString();
  at.setFact(record, "exit.json", { ...at.fact<ExitFact>(record, "exit.json"), ended_at });
}

const agents = async (at: Lab): Promise<string[]> =>
  (await at.workspace.runs.list({ all: true })).map(({ agent }) => agent).sort();
const trash = (at: Lab): string[] => (existsSync(join(at.root, "trash")) ? readdirSync(join(at.root, "trash")) : []);
/** Without what a look changes: the view's time, the database, the journal. */
const files = (at: Lab, task: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(snapshot(join(at.root, task), (name) => name === "AGENT_REGISTRY.json")).map(([name, what]) => [
      name,
      what.endsWith(" ") ? "folder" : what,
    ]),
  );

it("R-002.12, R-002.15, R-002.23: what ended long ago goes to the trash with all its files, comes back by --undo, and is deleted after trash_for", async () => {
  const at = lab();
  const old = await over(at, 15);
  await at.workspace.files.archive(old.agent);
  await at.workspace.runs.restart(old.agent);
  await at.workspace.runs.wait([old.agent]);
  for (const run of [1, 2]) age(at, { ...old, run }, 15);
  const young = await over(at, 1);
  const live = await at.sh("exec sleep 300");
  at.workspace.rebuild();
  const before = { files: files(at, old.task), shown: await at.workspace.runs.show(old.agent), rows: await agents(at) };

  const planned = await at.cli("prune", "--dry-run", "--json");
  expect(
    planned.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { task: old.task, agent: null, action: "trash", why: "ended more than 14d ago", bytes: expect.any(Number) },
  ]);
  expect([existsSync(join(at.root, old.task)), trash(at)]).toEqual([true, []]);

  const pruned = await at.cli("prune");
  expect([pruned.code, pruned.stdout]).toEqual([0, expect.stringMatching(/trashed +TASK-.*ended more than 14d ago/)]);
  expect([existsSync(join(at.root, old.task)), trash(at).length]).toEqual([false, 1]);
  expect(await agents(at)).toEqual([live.agent, young.agent].sort());
  expect(at.workspace.runs.tasks().map(({ task }) => task)).not.toContain(old.task);
  at.workspace.rebuild();
  expect(await agents(at)).toEqual([live.agent, young.agent].sort());

  expect((await at.cli("prune", "--undo", old.agent)).code).toBe(0);
  expect([files(at, old.task), trash(at)]).toEqual([before.files, []]);
  expect([await agents(at), await at.workspace.runs.show(old.agent)]).toEqual([before.rows, before.shown]);
  at.workspace.rebuild();
  expect(await agents(at)).toEqual(before.rows);
  expect((await at.raw(old.agent, { run: 1 })).toString()).toBe("some output\n");

  await at.workspace.files.prune();
  const impatient = at.open({ config: { trash_for: 0 } });
  expect(await impatient.up.loop().round()).toMatchObject({ deleted: 1 });
  expect(trash(at)).toEqual([]);
  await expect(at.workspace.files.undoPrune(old.agent)).rejects.toMatchObject({ code: "NOT_FOUND_FILE" });
  const { "prune.trashed": trashed, "prune.restored": restored, "prune.deleted": deleted } = counts(at);
  expect({ trashed, restored, deleted }).toEqual({ trashed: 2, restored: 1, deleted: 1 });
  expect(told(at, "prune.trashed")[0]).toMatchObject({ task: old.task, data: { agents: [old.agent], errors: [] } });
});

it("R-002.12: above a size the oldest go first, one by one, and their task stays while it has another agent", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("shared");
  const script = "head -c 3000000 /dev/urandom | base64";
  const [oldest, middle, newest] = [
    await over(at, 3, { task, script }),
    await over(at, 2, { task, script }),
    await over(at, 1, { task, script }),
  ];
  at.workspace.mail.progress(oldest.agent, "completed", "done");
  const shown = await at.workspace.runs.show(oldest.agent);
  const [one, ...more] = await at.workspace.files.prune({ overBytes: 10_000_000 });
  expect([one, more]).toMatchObject([{ agent: oldest.agent, task, action: "trashed" }, []]);
  expect(await agents(at)).toEqual([middle.agent, newest.agent].sort());
  const left = Object.keys(snapshot(join(at.root, task))).filter((name) => name.includes(oldest.agent));
  expect(left).toEqual([]);
  expect(text(join(at.root, task, "AGENT_REGISTRY.json"))).not.toContain(oldest.agent);
  // The rest follows with its task; the first one comes back into it.
  expect(await at.workspace.files.prune({ olderMs: 0 })).toMatchObject([{ agent: null, task, action: "trashed" }]);
  expect(existsSync(join(at.root, task))).toBe(false);
  const back = await at.workspace.files.undoPrune(oldest.agent);
  expect(back.map(({ action }) => action)).toEqual(["restored", "restored"]);
  expect(await agents(at)).toEqual([oldest.agent, middle.agent, newest.agent].sort());
  expect(await at.workspace.runs.show(oldest.agent)).toEqual(shown);
});

it("R-000.48: what lives, is held or has a child that lives is not touched", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("shared");
  const [parent, held] = [await over(at, 20, { task }), await over(at, 20, { task })];
  const child = await at.workspace.runs.start({ argv: ["sleep", "300"], parent: parent.agent as never });
  const stranger = openSync(held.log, "a");
  const kept = await at.workspace.files.prune({ olderMs: 0 });
  closeSync(stranger);
  expect(kept.map(({ agent, action, why }) => [agent, action, why])).toEqual(
    expect.arrayContaining([
      [held.agent, "kept", "a process has its log open for writing"],
      [parent.agent, "kept", `${child.agent}, which it started, has not ended`],
    ]),
  );
  expect(trash(at)).toEqual([]);
  expect(await agents(at)).toEqual([parent.agent, held.agent, child.agent].sort());
});

it("a worktree with work that is nowhere else keeps its agent; one that is all in another branch goes, by git", async () => {
  const at = lab();
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@example.org", ...args], {
      cwd,
      encoding: "utf8",
      stdio: "pipe",
    });
  git(at.folder, "init", "-q", "-b", "main");
  writeFileSync(join(at.folder, "file"), "1\n");
  git(at.folder, "add", "file");
  git(at.folder, "commit", "-qm", "first");
  const record = await over(at, 20, { worktree: true });
  const worktree = join(at.root, "worktrees", record.agent);
  const why = async (): Promise<unknown> => (await at.workspace.files.prune({ olderMs: 0, dryRun: true }))[0]?.why;

  writeFileSync(join(worktree, "new"), "x\n");
  expect(await why()).toMatch(/worktree .* 1 uncommitted change/);
  git(worktree, "add", "new");
  git(worktree, "commit", "-qm", "second");
  expect(await why()).toMatch(/worktree .* in no other branch/);
  expect(await at.workspace.files.prune({ olderMs: 0 })).toMatchObject([{ agent: record.agent, action: "kept" }]);
  git(at.folder, "merge", "-q", `midwatch/${record.agent}`);
  expect((await at.workspace.runs.show(record.agent)).files.find(({ kind }) => kind === "worktree")?.path).toBe(
    worktree,
  );
  expect(await at.workspace.files.prune({ olderMs: 0 })).toMatchObject([{ action: "trashed" }]);
  expect(existsSync(worktree)).toBe(false);
  expect(git(at.folder, "worktree", "list", "--porcelain")).not.toContain(worktree);
  expect(git(at.folder, "branch", "--list", "midwatch/*")).toBe("");
  await at.workspace.files.undoPrune();
  expect(await agents(at)).toEqual([record.agent]);
});

it("an undo overwrites nothing: what is there stays, the rest comes back, and it is told", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("shared");
  const record = await over(at, 20, { task });
  const other = await at.workspace.runs.start({ argv: ["sleep", "300"], task });
  await at.workspace.files.prune({ olderMs: 0 });
  expect(await agents(at)).toEqual([other.agent]);
  writeFileSync(record.log, "somebody else's");
  const undone = await at.cli("prune", "--undo", record.agent, "--json");
  expect(undone.code).toBe(1);
  expect(JSON.parse(undone.stdout)).toMatchObject({
    action: "failed",
    errors: [expect.stringContaining("_stream.jsonl")],
  });
  expect(text(record.log)).toBe("somebody else's");
  expect(await agents(at)).toEqual([record.agent, other.agent].sort());
  expect(trash(at)).toHaveLength(1);
  await until(
    () =>
      text(join(at.root, "trash", trash(at)[0] ?? "", "files", task, "logs", `${record.agent}_stream.jsonl`)) ===
      "some output\n",
  );
});
