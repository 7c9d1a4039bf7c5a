import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { host, isGone, readProcess } from "../../src/process/identity.ts";
import { keeperTable, procTable } from "../../src/process/table.ts";
import { livesIn, zoo } from "../support/fault/zoo.ts";
import { text, until } from "../support/workspace.ts";

const MARK = `mark-${process.pid}-${Math.random().toString(36).slice(2)}`;
let child: ChildProcess | undefined;

afterEach(() => child?.kill("SIGKILL"));

async function start(): Promise<number> {
  child = spawn("sleep", ["60"], { cwd: tmpdir(), env: { MARK }, stdio: "ignore" });
  await once(child, "spawn");
  return child.pid as number;
}

/** macOS has no /proc and asks the keeper; here both ways are there and must say the same. */
it("the keeper tells of processes what /proc tells", async () => {
  const pid = await start();
  const [asked, read] = [keeperTable.look(pid), procTable.look(pid)];
  expect(keeperTable.host()).toEqual(procTable.host());
  expect(asked.pids()).toEqual([pid]);
  expect({ ...asked.stat(pid), state: "" }).toMatchObject({ ...read.stat(pid), state: "" });
  expect(asked.stat(pid)).toMatchObject({ parent: process.pid, name: "sleep" });
  expect(asked.args(pid)).toEqual(["sleep", "60"]);
  expect(asked.cwd(pid)).toBe(realpathSync(tmpdir()));
  const all = keeperTable.look();
  expect(all.stat(pid)).toEqual(asked.stat(pid));
  expect(all.stat(process.pid)?.start_ticks).toBe(read.stat(process.pid)?.start_ticks);
});

it("the keeper finds a text in the environment of another process, and nobody who has ended", async () => {
  const pid = await start();
  expect(keeperTable.mentions(MARK)).toBe(true);
  child?.kill("SIGKILL");
  await once(child as ChildProcess, "exit");
  expect(keeperTable.mentions(MARK)).toBe(false);
  expect(keeperTable.look(pid).stat(pid)).toBeUndefined();
});

it("a process whose first thread has ended lives while another thread does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "midwatch-threads-"));
  const pids = join(folder, "pids");
  writeFileSync(pids, ""); // The zoo only appends to it.
  onTestFinished(() => rmSync(folder, { recursive: true }));
  child = spawn(zoo(), ["--pids", pids, "--life", "20", "leaderless"], { stdio: "ignore" });
  const leaderless = (): number | undefined =>
    (text(pids) === "" ? [] : livesIn(pids)).find(({ pid }) => /\) Z /.test(text(`/proc/${pid}/stat`)))?.pid;
  await until(() => leaderless() !== undefined, 5000, "the first thread has ended");
  const pid = leaderless() as number;
  try {
    expect([procTable.look(pid).stat(pid)?.state, keeperTable.look(pid).stat(pid)?.state]).toEqual(["S", "S"]);
    const { start_ticks } = readProcess(pid) ?? {};
    expect(isGone({ pid, start_ticks: start_ticks as number, ...host() })).toBe(false);
  } finally {
    process.kill(pid, "SIGKILL");
  }
});
