import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { unseen } from "../support/data/unseen.ts";
import { lab } from "../support/lab.ts";
import { type Lab, until } from "../support/workspace.ts";

/** More than any machine cleans up after in the time that a reading command takes. */
const COUNT = 200;

async function crowd(at: Lab, script: string, driver?: string): Promise<string[]> {
  const record = await at.sh(script);
  await at.workspace.runs.wait([record.agent]);
  return unseen(at.root, record, COUNT, driver);
}

const isClean = (at: Lab, id: string, i: number): boolean => {
  const task = `TASK-20260101-000000-${(i + 1).toString(16).padStart(8, "0")}`;
  return existsSync(join(at.root, task, "runs", id, "1.json"));
};

it("R-004.5: a list of agents that ended unseen does not wait for their clean-up, and says what it left", async () => {
  const at = lab();
  const ids = await crowd(at, "echo done");
  const { code, stdout, stderr } = await at.cli("ls", "--json");
  expect(code).toBe(0);
  const records = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(records).toHaveLength(COUNT + 1);
  for (const record of records)
    expect(record).toMatchObject({ phase: "drained", outcome: "completed", exit: { code: 0 }, bytes: 5 });
  const left = Number(/(\d+) agents have ended and not been cleaned up/.exec(stderr)?.[1]);
  expect(left).toBeGreaterThan(0);
  expect(ids.filter((id, i) => !isClean(at, id, i))).toHaveLength(left);

  // The one that somebody asks about is finished for them.
  const last = ids.findIndex((id, i) => !isClean(at, id, i));
  expect(await at.workspace.runs.show(ids[last])).toMatchObject({ outcome: "completed" });
  expect(isClean(at, ids[last] as string, last)).toBe(true);

  await at.workspace.runs.reap();
  expect(ids.filter((id, i) => !isClean(at, id, i))).toEqual([]);
  expect((await at.cli("ls")).stderr).not.toContain("cleaned up");
});

it("an agent that ended unseen takes no room", async () => {
  const at = lab({ max_agents: 1 });
  const first = await at.sh("sleep 0.2");
  await until(() => existsSync(join(at.runDir(first), "done.json")));
  const second = await at.sh("exec sleep 300");
  await expect(at.sh("true")).rejects.toMatchObject({ code: "REFUSED_LIMIT" });
  await at.workspace.runs.stop([second.agent]);
});

it("of an agent CLI that ended unseen no outcome is told before its stream was read", async () => {
  const at = lab();
  const error = { type: "result", subtype: "error_during_execution", is_error: true, result: "it broke" };
  await crowd(at, `echo '${JSON.stringify(error)}'`, "claude");
  let left = 0;
  const onLeft = (count: number): void => {
    left = count;
  };
  const listed = await at.open().runs.list({ onLeft });
  const outcomes = listed.filter(({ driver }) => driver === "claude").map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === null)).toHaveLength(left);
  expect(left).toBeGreaterThan(0);
  expect(new Set(outcomes)).toEqual(new Set([null, "failed"]));
});
