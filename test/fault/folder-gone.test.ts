import { existsSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
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
    const { agent, task } = await at.sh("i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo $i; sleep 0.01; done; exit 9");
    for (const path of what(at, task, agent)) renameSync(path, join(at.folder, basename(path)));
    await lookLater(at, 100);
    await until(() => existsSync(join(at.root, task, "runs", agent, "1", "done.json")));
    expect(await at.open().show(agent)).toMatchObject({ phase: "drained", outcome: "failed", exit: { code: 9 } });
    expect((await at.raw(agent)).toString().split("\n")).toHaveLength(101);
    await expectSettled(at);
  },
);

it("a stop while the run's folder is gone ends the run, and does not take it for one that never started", async () => {
  for (let round = 0; round < 5; round++) {
    const at = lab();
    const record = await at.sh("sleep 300 & echo on; sleep 300");
    await until(() => text(record.log) !== "");
    renameSync(join(at.root, record.task), join(at.folder, "gone"));
    const [report] = await at.workspace.stop([record.agent], { graceMs: 0 });
    expect(report).toMatchObject({
      verified: true,
      outcome: "stopped",
      exit: { signal: "SIGKILL" },
      processes_total: 3,
    });
    expect(at.survivors()).toEqual([]);
    expect((await at.workspace.show(record.agent)).phase).toBe("drained");
  }
});
