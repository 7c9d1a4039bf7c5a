import { once } from "node:events";
import { existsSync, globSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CleanupFact, Report } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { leases } from "../../src/process/keeper.ts";
import { counts, told } from "../support/data/events.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { type Lab, supportFile, text, until } from "../support/workspace.ts";

/** The same for whoever asks, but for how long it took and who was first. */
const same = ({ took_ms, already_stopped, ...rest }: Report): Omit<Report, "took_ms" | "already_stopped"> => rest;

async function busy(at: Lab, script = "echo some output; setsid sleep 300 & exec sleep 300"): Promise<RunRecord> {
  const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], prompt: "p" });
  await until(() => text(record.log) !== "");
  return record;
}

/** `processes` x `each` stops that begin together. */
async function stopAll(at: Lab, { agent }: RunRecord, processes: number, each: number, purge = ""): Promise<Report[]> {
  const workers = Array.from({ length: processes }, () =>
    at.node(supportFile("worker/stop-many.ts"), at.root, agent, String(each), purge),
  );
  await Promise.all(workers.map((worker) => once(worker, "message")));
  const answers = workers.map(async (worker) => (await once(worker, "message"))[0] as Report[] | string);
  for (const worker of workers) worker.send("go");
  const told = await Promise.all(answers);
  expect(told.filter((one) => typeof one === "string")).toEqual([]);
  return told.flat() as Report[];
}

function onceEach(at: Lab, record: RunRecord): void {
  const paths = told(at, "cleanup.").map(({ type, data }) => `${type} ${data?.["path"]}`);
  expect(paths).toHaveLength(new Set(paths).size);
  expect(counts(at)).toMatchObject({ "agent.started": 1, "agent.ended": 1 });
  expect(globSync("TASK-*/**/*.{part,tmp}", { cwd: at.root })).toEqual([]);
  expect(existsSync(join(at.root, record.task, `agent_prompt_${record.agent}.txt`))).toBe(false);
}

describe.each([
  [5, 5, 1],
  [50, 5, 10],
])("%i stops of one agent at once", (count, processes, each) => {
  it.each(["", "purge"])("R-004.6, R-004.7: tell the same and do each thing once %s", async (purge) => {
    const at = lab({ archive_after: purge ? "24h" : 0 });
    const record = await busy(at);
    const reports = await stopAll(at, record, processes, each, purge);
    expect(reports).toHaveLength(count);
    expect(reports[0]).toMatchObject({ verified: true, outcome: "stopped", left: [] });
    for (const report of reports) expect(same(report)).toEqual(same(reports[0] as Report));
    expect(at.fact<CleanupFact>(record, "cleanup.json")?.files).toEqual(reports[0]?.files);
    onceEach(at, record);
    expect(existsSync(record.log)).toBe(false);
  });
});

it("R-004.5, R-004.6, R-004.7: stops that race the natural end, reap, ls and the loop agree (12 rounds)", async () => {
  for (let round = 0; round < 12; round++) {
    const at = lab({ archive_after: 0 });
    const record = await busy(at, `echo some output; sleep 0.${String(round % 4)}; exit 3`);
    const others = [at.open(), at.open(), at.open()];
    const [[first], [second]] = await Promise.all([
      at.open().runs.stop([record.agent], { graceMs: 100 }),
      at.open().runs.stop([record.agent], { graceMs: 100 }),
      others[0]?.runs.reap(),
      others[1]?.runs.list(),
      others[2]?.up.loop().round(),
    ]);
    expect(same(second as Report)).toEqual(same(first as Report));
    expect(first?.verified).toBe(true);
    onceEach(at, record);
    expect(counts(at)["cleanup.archived"]).toBe(1);
    expect((await at.raw(record.agent)).toString()).toBe("some output\n");
  }
});

it("R-004.6, R-000.38: stops, purges, archives and reaps that race restarts overwrite no archive (10 rounds)", async () => {
  const at = lab({ archive_after: 0 });
  const record = await busy(at, 'echo "run $MIDWATCH_RUN"; exec sleep 300');
  for (let run = 1; run <= 10; run++) {
    await until(async () => (await at.raw(record.agent)).toString().includes(`run ${run}\n`));
    await at.workspace.runs.stop([record.agent], { graceMs: 0 });
    const tries = await Promise.allSettled([
      at.open().runs.restart(record.agent),
      at.open().runs.restart(record.agent),
      at.open().runs.reap(),
      at.open().files.archive(record.agent),
      at.open().runs.stop([record.agent], { graceMs: 0 }),
    ]);
    for (const one of tries) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "REFUSED_ALIVE" });
    if ((await at.workspace.runs.show(record.agent)).run === run) await at.workspace.runs.restart(record.agent);
    const { run: newest, phase } = await at.workspace.runs.show(record.agent);
    expect(newest).toBe(run + 1);
    if (phase !== "running") await at.workspace.runs.wait([record.agent], { timeoutMs: patient(10_000) });
    for (let earlier = 1; earlier <= run; earlier++) {
      const log = (await at.raw(record.agent, { run: earlier })).toString();
      expect(["", `run ${earlier}\n`]).toContain(log);
    }
    if (phase !== "running") break; // The racing stop was quicker than the agent's first line.
  }
  const names = readdirSync(join(at.root, record.task, "archive"));
  expect(names.filter((name) => name.endsWith(".part"))).toEqual([]);
});

it.each(["ls", "the loop"])(
  "R-002.11, R-002.13, R-002.16, R-004.5: 100 agents that end by themselves are all cleaned up by %s, once",
  async (who) => {
    const at = lab();
    const { task } = at.workspace.runs.makeTask("short ones");
    const records: RunRecord[] = [];
    for (let i = 0; i < 100; i += 10) {
      const argv = ["sh", "-c", "echo out; sleep 0.5"];
      const some = Array.from({ length: 10 }, () => at.workspace.runs.start({ argv, task, prompt: "p" }));
      records.push(...(await Promise.all(some)));
    }
    await until(() => records.every((record) => existsSync(join(at.runDir(record), "done.json"))), 30_000);
    // Each look does a part of it and leaves the rest to the next.
    const loops = [at.open().up.loop(), at.open().up.loop()];
    const look = async (): Promise<boolean> => {
      if (who === "ls") expect((await at.cli("ls")).code).toBe(0);
      else await Promise.all(loops.map((loop) => loop.round()));
      return readdirSync(join(at.root, "active")).length === 0;
    };
    await until(look, 60_000, "all are cleaned up");
    for (const record of records) expect(at.fact<CleanupFact>(record, "cleanup.json")?.failures).toEqual([]);
    expect(globSync("TASK-*/agent_prompt_*", { cwd: at.root })).toEqual([]);
    await until(() => at.survivors(true).length === 0); // A keeper outlives its last fact by moments.
    expect(new Set(leases(records.map(({ log }) => log)))).toEqual(new Set(["free"]));
    const { total, active, completed } = JSON.parse(text(join(at.root, task, "AGENT_REGISTRY.json")));
    expect({ total, active, completed }).toEqual({ total: 100, active: 0, completed: 100 });
    expect(counts(at)).toMatchObject({ "agent.started": 100, "agent.ended": 100 });
  },
);
