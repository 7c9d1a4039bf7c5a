import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { retention } from "../soak/retention.ts";
import { counts, told } from "../support/data/events.ts";
import { unseen } from "../support/data/unseen.ts";
import { lab } from "../support/lab.ts";
import { CLI, type Lab } from "../support/workspace.ts";

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

it("R-000.48, R-002.15: a round of up takes what is older than prune_after to the trash, without being asked; --undo brings it back", async () => {
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

it("R-000.48, R-002.15: prune_over takes the oldest, and 0 turns both off", async () => {
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

it("R-002.15: `up --once` with prune_after 1s takes all that ended to the trash and tells it once; `prune --undo` brings them back (60)", async () => {
  const { failures, figures } = await retention(60);
  console.log("retention", figures);
  expect(failures).toEqual([]);
});

it("R-002.15: what a person brought back stays for a day, however old it is", async () => {
  const at = lab({ prune_after: "1h" });
  const record = await over(at, 2 * HOUR);
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 1 });
  await at.workspace.files.undoPrune();
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 0 });
  expect(await at.workspace.files.pruneShare()).toBeUndefined();
  expect(await agents(at)).toEqual([record.agent]);
  expect(await at.workspace.files.prune()).toMatchObject([{ action: "trashed" }]);
});

it("R-002.15: no prune takes what is pinned, asked or not, until it is let go", async () => {
  const at = lab({ prune_after: "1h" });
  const record = await over(at, 2 * HOUR);
  expect((await at.cli("pin", record.agent)).stdout).toBe(`${record.agent} is pinned\n`);
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 0 });
  expect(await at.workspace.files.prune({ olderMs: 0 })).toMatchObject([
    { action: "kept", why: expect.stringContaining("pinned") },
  ]);
  expect(await at.workspace.runs.show(record.agent)).toMatchObject({ pinned: true });
  await at.cli("pin", "--off", record.agent);
  expect(await at.workspace.runs.show(record.agent)).toMatchObject({ pinned: false });
  expect(await at.workspace.up.loop().round()).toMatchObject({ trashed: 1 });
});

describe("where no `up` leads", () => {
  /** Fifty that ended, of which the configuration wants none. */
  async function full(config: object): Promise<Lab> {
    const at = lab();
    unseen(at.root, await over(at, 0), 49);
    await at.workspace.runs.reap();
    writeFileSync(join(at.folder, "midwatch.config.json"), JSON.stringify(config));
    expect((await at.cli("trust")).code).toBe(0);
    return at;
  }

  it.each([{ prune_after: "1ms" }, { prune_over: 1, prune_after: "off" }])(
    "R-002.15: a command by which a person changes something takes a share, 20 at the most, and says so (%j)",
    async (config) => {
      const at = await full(config);
      expect((await at.cli("ls")).code).toBe(0);
      expect(await agents(at)).toHaveLength(50);
      const { code, stderr } = await at.cli("task", "something");
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^midwatch: [1-9]\d? that ended went to the trash/m)]);
      const left = (await agents(at)).length;
      expect(left).toBeGreaterThanOrEqual(30);
      expect(left).toBeLessThan(50);
      expect(readdirSync(join(at.root, "trash"))).toHaveLength(50 - left);
      // An agent's command takes nothing.
      const { agent } = await at.sh(`"${process.execPath}" "${CLI}" event 1 note hello`);
      await at.workspace.runs.wait([agent]);
      expect(await agents(at)).toHaveLength(left + 1);
    },
  );

  it("R-002.15: while one leads, a command takes nothing; and off is off", async () => {
    const at = await full({ prune_after: "off", prune_over: "off" });
    await at.cli("task", "something");
    expect(await agents(at)).toHaveLength(50);
    const other = at.open({ config: { prune_after: "1ms" } });
    const ending = new AbortController();
    const house = at.open().up.keep({ signal: ending.signal, tell: () => undefined });
    while ((await house.next()).value?.term === null);
    expect(await other.files.pruneShare()).toBeUndefined();
    expect(await agents(at)).toHaveLength(50);
    ending.abort();
    while (!(await house.next()).done);
    expect(await other.files.pruneShare()).toContain("went to the trash");
  });
});
