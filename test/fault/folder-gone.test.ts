import { renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tier } from "../../src/core/intent.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { adopterOf, identify, keeperOf, kill9 } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { expectSettled, lookLater } from "../support/settled.ts";
import { type Lab, text, until } from "../support/workspace.ts";

it.each([
  ["its run folder", (at: Lab, task: string, agent: string) => [join(at.root, task, "runs", agent, "1")]],
  ["its task folder", (at: Lab, task: string) => [join(at.root, task)]],
  ["its task folder and the database", (at: Lab, task: string) => [join(at.root, task), join(at.root, "midwatch.db")]],
])(
  "R-000.34: %s deleted mid-run while others look: the run is never given up and never lost from sight",
  async (_, what) => {
    const at = lab();
    const go = join(at.folder, "go");
    const waits = `[ $i -ne 50 ] || until [ -e "${go}" ]; do sleep 0.02; done`;
    const { agent, task } = await at.sh(`i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i; ${waits}; done; exit 9`);
    for (const path of what(at, task, agent)) renameSync(path, join(at.folder, basename(path)));
    writeFileSync(go, "");
    await lookLater(at, 100);
    await until(() => at.fact({ task, agent, run: 1 }, "done.json"));
    expect(await at.open().runs.show(agent)).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: 9 } });
    expect((await at.raw(agent)).toString().split("\n")).toHaveLength(101);
    await expectSettled(at);
  },
);

describe.each(["auto", "subreaper"] as Tier[])("the keeper is dead, then the folder is deleted (tier %s)", (tier) => {
  const forgotten = async (at: Lab, what: (record: RunRecord) => string): Promise<RunRecord> => {
    const record = await at.sh("echo before; sleep 300 & while :; do sleep 0.05; echo after; done");
    await until(() => text(record.log) !== "");
    await kill9(keeperOf(at, record));
    rmSync(what(record), { recursive: true });
    return record;
  };
  const places: [string, (at: Lab, record: RunRecord) => string][] = [
    ["its run folder", (at, record) => at.runDir(record)],
    ["its task folder", (at, { task }) => join(at.root, task)],
  ];

  it.each(places)(
    "R-004.3: %s: it stays in sight as lost with its living processes, is adopted and stopped",
    async (_, what) => {
      const at = lab({ tier });
      const record = await forgotten(at, (run) => what(at, run));
      const [seen] = await at.open().runs.list();
      expect(seen).toMatchObject({ agent: record.agent, phase: "lost", outcome: "lost" });
      expect(seen?.alive?.map(({ pid }) => pid)).toContain(record.pid);
      await lookLater(at, 2);
      expect(await at.workspace.runs.show(record.agent)).toMatchObject({ phase: "lost" });
      await until(() => adopterOf(at, record) !== undefined, 5000, "adopted");
      // The main process still has the deleted log open: the adopter brings it back from there.
      await until(() => text(record.log).startsWith("before\nafter\n"));
      const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 100 });
      expect(report).toMatchObject({
        verified: true,
        outcome: "stopped",
        left: [],
        exit: { code: null, signal: null },
      });
      expect(report?.guarantee).toBe(record.guarantee === "cgroup" ? "cgroup" : "scan");
      expect(at.survivors()).toEqual([]);
      await expectSettled(at);
    },
  );

  it.each(places)(
    "R-004.3: %s: a stop that comes first ends it, and does not take it for one that never started",
    async (_, what) => {
      const at = lab({ tier });
      const record = await forgotten(at, (run) => what(at, run));
      const { code, stdout } = await at.cli("stop", "--grace", "100ms", "--json", record.agent);
      expect([code, JSON.parse(stdout)]).toMatchObject([0, { verified: true, outcome: "stopped", left: [] }]);
      expect(JSON.parse(stdout).processes_total).toBeGreaterThan(1);
      expect(at.survivors()).toEqual([]);
      await expectSettled(at);
    },
  );

  it("R-004.3: and nothing of it lives: its row goes with its folder", async () => {
    const at = lab({ tier });
    const record = await at.sh("exec sleep 300");
    await kill9(keeperOf(at, record));
    await kill9(identify(record.pid as number));
    rmSync(join(at.root, record.task), { recursive: true });
    await lookLater(at);
    expect(await at.open().runs.list({ all: true })).toEqual([]);
  });
});

it("a stop while the run's folder is gone ends the run, and does not take it for one that never started", async () => {
  for (let round = 0; round < 5; round++) {
    const at = lab();
    const record = await at.sh("sleep 300 & echo on; sleep 300");
    await until(() => text(record.log) !== "");
    renameSync(join(at.root, record.task), join(at.folder, "gone"));
    const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
    expect(report).toMatchObject({
      verified: true,
      outcome: "stopped",
      exit: { signal: "SIGKILL" },
      processes_total: 3,
    });
    expect(at.survivors()).toEqual([]);
    expect((await at.workspace.runs.show(record.agent)).phase).toBe("drained");
  }
});
