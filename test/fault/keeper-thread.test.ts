/**
 * A keeper syncs its log in a thread of its own, which may outlive the first one: on a busy disk for seconds. Until it has ended, the
 * log is open for writing and the index is locked. Here the thread is kept from ending for as long as the test wants.
 */
import { existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Report } from "../../src/core/types.ts";
import { checkIndex, readIndex } from "../support/data/index-check.ts";
import { holdThread } from "../support/fault/hold-thread.ts";
import { adopterOf, keeperOf, signal } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { lives, until } from "../support/workspace.ts";

/** Long enough for everything that does not wait for the thread. */
const HELD_MS = 700;

it("R-004.3: a run whose keeper still has a thread in its log is not over, and is packed as soon as it is", async () => {
  const at = lab();
  const record = await at.sh(`echo printed; while [ ! -e "${at.folder}/go" ]; do sleep 0.02; done; exit 3`);
  const thread = await holdThread(at, keeperOf(at, record));
  writeFileSync(join(at.folder, "go"), "");
  const over = at.workspace.runs.wait([record.agent]);
  const released = (async () => {
    await until(() => at.fact(record, "exit.json") !== undefined, 5000, "the exit is told");
    await until(() => thread.isHeld());
    await Promise.race([over, sleep(HELD_MS)]);
    const early = at.fact(record, "done.json") !== undefined;
    if (!early) await thread.release();
    return early;
  })();
  await over;
  const { files } = await at.workspace.files.archive(record.agent);
  expect(files).toContainEqual(expect.objectContaining({ action: "archived", error: null }));
  expect(files.filter(({ action }) => action === "failed")).toEqual([]);
  expect(await released, "the run was over before its keeper").toBe(false);
});

it("R-004.3: stop --purge waits for the thread and leaves no log", async () => {
  const at = lab();
  const record = await at.sh("echo printed; exec sleep 60");
  const keeper = keeperOf(at, record);
  const thread = await holdThread(at, keeper);
  const stopped = at.cli("stop", "--json", "--purge", "--grace", "0", record.agent);
  await until(() => thread.isHeld());
  await Promise.race([stopped, sleep(HELD_MS)]);
  const early = at.fact(record, "done.json") !== undefined;
  if (!early) await thread.release();
  const { code, stdout } = await stopped;
  const report = JSON.parse(stdout) as Report;
  expect({ code, left: report.files.filter(({ action }) => action === "failed") }).toEqual({ code: 0, left: [] });
  expect([existsSync(record.log), lives(keeper)]).toEqual([false, false]);
});

it("R-004.3: stop --purge fails and says why when a file cannot be removed", async () => {
  const at = lab();
  const record = await at.sh("echo printed; exec sleep 60");
  openSync(record.log, "a"); // Held until this process ends.
  const { code, stdout } = await at.cli("stop", "--json", "--purge", "--grace", "0", record.agent);
  const report = JSON.parse(stdout) as Report;
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(report.files).toContainEqual(
    expect.objectContaining({ path: record.log, action: "failed", error: "a process has it open for writing" }),
  );
  expect(code).toBe(1);
});

it("R-004.3: a run whose killed keeper still has a thread is adopted at once, and its index goes on when the thread is gone", async () => {
  const at = lab();
  const record = await at.sh("i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done");
  const index = record.log.replace(".jsonl", ".idx");
  const entries = (): number => readIndex(readFileSync(index)).length;
  const keeper = keeperOf(at, record);
  const thread = await holdThread(at, keeper);
  await until(() => entries() > 1);
  signal(keeper, "SIGKILL");
  await until(() => thread.isHeld());
  await at.workspace.runs.list();
  await until(() => adopterOf(at, record) !== undefined, 5000, "adopted while the thread is there");
  const before = entries();
  await thread.release();
  await until(() => entries() > before + 2, 5000, "the index goes on");
  const [report] = await at.workspace.runs.stop([record.agent], { graceMs: 0 });
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(checkIndex(readFileSync(record.log), readFileSync(index))).toEqual([]);
});

it("R-004.3: such a run is stopped while the thread is there; the proof comes when it is gone", async () => {
  const at = lab();
  const record = await at.sh("trap '' INT TERM; while :; do echo line; sleep 0.05; done");
  const keeper = keeperOf(at, record);
  const { main } = at.startFact(record);
  const thread = await holdThread(at, keeper);
  signal(keeper, "SIGKILL");
  await until(() => thread.isHeld());
  const stopped = at.workspace.runs.stop([record.agent], { graceMs: 100, purge: true });
  await until(() => !lives(main as NonNullable<typeof main>), 5000, "the agent is ended");
  expect(at.fact(record, "done.json")).toBeUndefined();
  await thread.release();
  const [report] = await stopped;
  expect(report).toMatchObject({ verified: true, left: [] });
  expect(report?.files.filter(({ action }) => action === "failed")).toEqual([]);
  expect(existsSync(record.log)).toBe(false);
});
