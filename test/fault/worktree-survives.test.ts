import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { gitIn, makeRepository } from "../support/net/repository.ts";
import { type Lab, until } from "../support/workspace.ts";

const WORK = "echo work > new; echo work >> a.txt; echo done; sleep 300";

async function working(at: Lab, script: string = WORK): Promise<RunRecord> {
  const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], worktree: true });
  await until(async () => (await at.raw(record.agent)).includes("done"));
  return record;
}

function expectWork(at: Lab, { agent }: RunRecord): void {
  const path = join(at.root, "worktrees", agent);
  expect(readFileSync(join(path, "new"), "utf8")).toBe("work\n");
  expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("one\nwork\n");
  expect(gitIn(path, "status", "--porcelain")).toBe(" M a.txt\n?? new");
}

it.each<[string, (at: Lab, record: RunRecord) => Promise<unknown>]>([
  ["with grace", (at, { agent }) => at.workspace.runs.stop([agent], { graceMs: 200 })],
  ["with grace 0", (at, { agent }) => at.workspace.runs.stop([agent], { graceMs: 0 })],
  ["with its tree", (at, { agent }) => at.workspace.runs.stop([agent], { tree: true })],
  ["with purge", (at, { agent }) => at.workspace.runs.stop([agent], { purge: true })],
  [
    "twice, with purge",
    async (at, { agent }) => {
      await at.workspace.runs.stop([agent], { purge: true });
      return await at.workspace.runs.stop([agent], { purge: true, tree: true });
    },
  ],
  [
    "after its keeper was killed",
    async (at, record) => {
      await kill9(keeperOf(at, record));
      return await at.workspace.runs.stop([record.agent], { graceMs: 0, purge: true });
    },
  ],
  [
    "by reap --lost",
    async (at, record) => {
      await kill9(keeperOf(at, record));
      return await at.workspace.runs.reap({ lost: true });
    },
  ],
  [
    "and restarted",
    async (at, { agent }) => {
      await at.workspace.runs.stop([agent], { graceMs: 0 });
      const again = at.open();
      await again.runs.restart(agent);
      return await again.runs.stop([agent], { graceMs: 0, purge: true });
    },
  ],
])("uncommitted work in a worktree outlives a stop %s", async (how, act) => {
  const at = lab({}, repository());
  // A second life must not do the work again.
  const script = how === "and restarted" ? `test -e new || { ${WORK}; }; sleep 300` : WORK;
  const record = await working(at, script);
  await act(at, record);
  await at.workspace.runs.reap();
  expect((await at.workspace.runs.show(record.agent)).phase).toBe("drained");
  expectWork(at, record);
});

function repository(): string {
  const place = folder();
  makeRepository(place);
  return place;
}
