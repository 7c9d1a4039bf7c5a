import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { counts, told } from "../support/data/events.ts";
import { unseen } from "../support/data/unseen.ts";
import { lab } from "../support/lab.ts";
import type { Lab } from "../support/workspace.ts";

const HOUR = 3_600_000;

async function over(at: Lab, ageMs: number): Promise<RunRecord> {
  const record = await at.sh("echo done");
  await at.workspace.runs.wait([record.agent]);
  const ended_at = new Date(Date.now() - ageMs).toISOString();
  at.setFact(record, "exit.json", { ...at.fact<object>(record, "exit.json"), ended_at });
  at.workspace.rebuild();
  return record;
}

const agents = async (at: Lab): Promise<string[]> =>
  (await at.workspace.runs.list({ all: true })).map(({ agent }) => agent).sort();

it("R-002.15: a round of up takes what is older than prune_after to the trash, without being asked; --undo brings it back", async () => {
  const at = lab({ prune_after: "1h" });
  const [old, young] = [await over(at, 2 * HOUR), await over(at, 0)];
  const live = await at.sh("exec sleep 300");
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 1, problem: null });
  expect(await agents(at)).toEqual([live.agent, young.agent].sort());
  expect(told(at, "prune.trashed")).toMatchObject([
    { data: { why: expect.stringContaining("1h"), agents: [old.agent] } },
  ]);
  await at.workspace.files.undoPrune();
  expect(await agents(at)).toEqual([live.agent, old.agent, young.agent].sort());
});

it("R-002.15: prune_over takes the oldest, and 0 turns both off", async () => {
  const at = lab({ prune_over: 1, prune_after: 0 });
  await over(at, 2 * HOUR);
  const off = at.open({ config: { prune_over: 0, prune_after: 0 } });
  expect(await off.up.loop().round()).toMatchObject({ trashed: 0 });
  expect(await off.files.prune()).toEqual([]);
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 1 });
  expect(await agents(at)).toEqual([]);
});

it("R-002.15: what has a failed step of its cleanup stays, for a person to look at", async () => {
  const at = lab({ prune_after: "1h" });
  const record = await over(at, 2 * HOUR);
  const failures = [
    { path: record.log, step: "archive", error: "no", tries: 1, since: "", at: new Date().toISOString() },
  ];
  at.setFact(record, "cleanup.json", { ...at.fact<object>(record, "cleanup.json"), failures });
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 0 });
  expect(await agents(at)).toEqual([record.agent]);
});

it("R-002.15: in a workspace of a release that did not do so it is told first, and done a round later", async () => {
  const at = lab({ prune_after: "1h" });
  const record = await over(at, 2 * HOUR);
  at.unseal(record);
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 0 });
  expect(await agents(at)).toEqual([record.agent]);
  expect(told(at, "prune.announced")).toHaveLength(1);
  expect(existsSync(join(at.root, "retention.json"))).toBe(true);
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 1 });
  expect(counts(at)["prune.announced"]).toBe(1);
});

it("R-002.15: `up --once` takes hundreds to the trash and tells it once; `prune --undo` brings all of them back", async () => {
  const at = lab();
  const first = await over(at, 0);
  unseen(at.root, first, 150);
  await at.workspace.runs.reap();
  writeFileSync(join(at.folder, "midwatch.config.json"), '{"prune_after": "1ms"}');
  expect((await at.cli("trust")).code).toBe(0);
  expect((await at.cli("up", "--once")).code).toBe(0);
  expect(await agents(at)).toEqual([]);
  expect(counts(at)["prune.trashed"]).toBe(1);
  expect((await at.cli("prune", "--undo")).code).toBe(0);
  expect(await agents(at)).toHaveLength(151);
});
