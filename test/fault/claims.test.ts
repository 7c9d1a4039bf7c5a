/** Eight agents claim one task at once; the one that has it is killed, and another follows; nothing stays claimed by the dead. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TaskId } from "../../src/core/ids.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { lab } from "../support/lab.ts";
import { CLI, text, until } from "../support/workspace.ts";

const WAIT_MS = 60_000;

it("R-003.19, R-003.27: of eight that claim a task at once exactly one has it; it is killed by kill -9, and exactly one follows, each time", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("something that must be done once");
  // Each tries for ever; one that has it works on.
  const script = `
until [ -e '${at.folder}/go' ]; do sleep 0.05; done
until '${process.execPath}' '${CLI}' claim --json 2>>'${at.folder}/refused'; do sleep 0.05; done
exec sleep 100000`;
  const agents: RunRecord[] = [];
  for (let i = 0; i < 8; i++) agents.push(await at.workspace.runs.start({ task, argv: ["sh", "-c", script] }));
  const file = join(at.folder, "go");
  await at.cli("jsonl", "--help"); // The program is compiled and cached before they all ask for it.
  writeFileSync(file, "");
  const winners: string[] = [];
  for (let term = 1; term <= 3; term++) {
    await until(async () => (await at.workspace.runs.claims())[0]?.term === term, WAIT_MS, `term ${term}`);
    const [claim] = await at.workspace.runs.claims();
    const holder = claim?.holder as string;
    winners.push(holder);
    const told = (await at.cli("tasks", "--json")).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(told).toMatchObject([{ task, claim: { holder, term } }]);
    expect((await at.workspace.runs.show(holder)).claim).toMatchObject({ task, term });
    const other = agents.find(({ agent }) => !winners.includes(agent)) as RunRecord;
    expect((await at.workspace.runs.show(other.agent)).claim).toBeNull();
    // Who was told that it has it: all so far, each once.
    const got = await Promise.all(agents.map(async ({ agent }) => (await at.raw(agent)).toString().trim()));
    await until(async () => (await at.raw(holder)).length > 0, WAIT_MS);
    expect(got.filter((said, i) => said !== "" && !winners.includes((agents[i] as RunRecord).agent))).toEqual([]);
    const one = agents.find(({ agent }) => agent === holder) as RunRecord;
    process.kill(at.startFact(one).main?.pid as number, "SIGKILL");
  }
  expect(new Set(winners).size).toBe(3);
  const refused = text(join(at.folder, "refused"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).error);
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused)
    expect(error).toMatchObject({ code: "REFUSED_CLAIM", message: expect.stringContaining(task) });
  await at.workspace.runs.stop(
    agents.map(({ agent }) => agent),
    { graceMs: 0 },
  );
  expect(await at.workspace.runs.claims()).toEqual([]);
});

it("a person's claim is had under a name, is refused to others, and ends when it is given back or by its time", async () => {
  const at = lab();
  const { task } = at.workspace.runs.makeTask("by hand");
  const claim = async (...flags: string[]) => await at.cli("claim", task, "--json", ...flags);
  expect(JSON.parse((await claim("--as", "ann")).stdout)).toMatchObject({ task, holder: "ann", term: 1, ttl_ms: null });
  expect(JSON.parse((await claim("--as", "ann", "--ttl", "10m")).stdout)).toMatchObject({ term: 1, ttl_ms: 600_000 });
  const refused = await claim("--as", "bob");
  expect([refused.code, JSON.parse(refused.stderr).error]).toEqual([
    4,
    expect.objectContaining({ code: "REFUSED_CLAIM", message: expect.stringContaining("ann has claimed") }),
  ]);
  expect(JSON.parse((await claim("--release")).stdout)).toMatchObject({ holder: null });
  expect((await claim("--release")).code).toBe(0);
  expect(JSON.parse((await claim("--as", "bob", "--ttl", "1ms")).stdout)).toMatchObject({ holder: "bob", term: 2 });
  expect(JSON.parse((await claim("--as", "ann")).stdout)).toMatchObject({ holder: "ann", term: 3 });
  expect((await at.cli("claim")).code).toBe(2);
  expect((await at.cli("claim", "TASK-20200101-000000-00000000")).code).toBe(3);
});

it("an agent claims its own task only, gives back its own claim only, and has it no longer than its run", async () => {
  const at = lab();
  const elsewhere = at.workspace.runs.makeTask("another").task;
  const midwatch = `'${process.execPath}' '${CLI}'`;
  const one = await at.sh(
    `${midwatch} claim; ${midwatch} claim ${elsewhere}; echo $?; until [ -e '${at.folder}/end' ]; do sleep 0.05; done`,
  );
  await until(async () => (await at.raw(one.agent)).toString().includes("\n4\n"), WAIT_MS);
  expect(await at.workspace.runs.claims()).toMatchObject([{ task: one.task, holder: one.agent, term: 1 }]);
  const two = await at.workspace.runs.start({
    task: one.task as TaskId,
    argv: ["sh", "-c", `${midwatch} claim --release; echo $?`],
  });
  await at.workspace.runs.wait([two.agent]);
  expect((await at.raw(two.agent)).toString()).toContain("4\n");
  writeFileSync(join(at.folder, "end"), "");
  await at.workspace.runs.wait([one.agent]);
  expect(await at.workspace.runs.claims()).toEqual([]);
});
