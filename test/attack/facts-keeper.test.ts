/** What an agent writes into its run folder to drown its keeper, to turn it against somebody, or to be taken for another's. */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { keeperBinary } from "../../src/process/keeper-binary.ts";
import { ended, Lab, lives, until } from "../support/workspace.ts";

const GIB = 1 << 30;
let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.end());

/** The most that it ever had in memory, in KiB. */
const peak = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
const adopter = (record: RunRecord) => lab.fact<{ pid: number; start_ticks: number }>(record, "adopt.json");

async function murder(record: RunRecord): Promise<void> {
  const { keeper } = lab.startFact(record);
  process.kill(keeper.pid, "SIGKILL");
  await until(() => !lives(keeper));
}

function sparse(path: string, bytes: number, last = ""): void {
  const file = openSync(path, "a");
  ftruncateSync(file, bytes);
  writeSync(file, last);
}

it.each(["messages.jsonl", "members", "stop.json", "input.closed", "ran"])(
  "an agent makes %s a file of 4 GiB: its keeper stays small, and a stop ends it with proof",
  async (name) => {
    const record = await lab.workspace.runs.start({ argv: ["sleep", "1000"], interactive: true });
    const path = join(lab.runDir(record), name);
    sparse(path, 4 * GIB);
    const { keeper } = lab.startFact(record);
    process.kill(keeper.pid, "SIGCONT");
    await until(() => peak(keeper.pid) > 0);
    if (name !== "stop.json") expect(peak(keeper.pid)).toBeLessThan(1024);
    const [report] = await lab.workspace.runs.stop([record.agent], { graceMs: 0 });
    expect(report).toMatchObject({ verified: true, left: [] });
  },
);

it("and so does the keeper that takes over from one that was killed", async () => {
  const record = await lab.workspace.runs.start({ argv: ["sleep", "1000"], interactive: true });
  for (const name of ["messages.jsonl", "members", "ran", "hold.json"]) sparse(join(lab.runDir(record), name), 4 * GIB);
  await murder(record);
  await lab.workspace.runs.list();
  await until(() => adopter(record));
  expect(peak(adopter(record)?.pid as number)).toBeLessThan(1024);
  const [report] = await lab.workspace.runs.stop([record.agent], { graceMs: 0 });
  expect(report).toMatchObject({ verified: true, left: [] });
});

it("what comes behind a line that is too long is handed over all the same", async () => {
  const record = await lab.workspace.runs.start({ argv: ["sh", "-c", "read -r a; echo got $a"], interactive: true });
  sparse(join(lab.runDir(record), "messages.jsonl"), 64 << 20, "\n");
  lab.workspace.mail.send(record.agent, "hello");
  await lab.workspace.runs.wait([record.agent]);
  expect((await lab.raw(record.agent)).toString()).toContain("hello");
});

it.each(["../../victim", "0".repeat(31), `${"0".repeat(32)}a`, `${"0".repeat(30)}/x`, "0".repeat(31).concat("G"), ""])(
  "a nonce that is none (%j) is refused by every verb, and nothing is touched",
  async (nonce) => {
    const victim = join(lab.folder, "victim");
    mkdirSync(join(victim, "deep"), { recursive: true });
    const binary = keeperBinary().path;
    for (const verb of ["run", "adopt"]) {
      const child = spawn(binary, [verb, "a.1", nonce], { stdio: ["pipe", "ignore", "ignore"] });
      child.stdin.on("error", () => undefined);
      child.stdin.end(`dir=${lab.folder}\0root=${lab.root}\0log=l\0err=e\0idx=i\0arg=true\0end\0`);
      expect((await ended(child)).code).toBe(2);
    }
    expect(spawnSync(binary, ["scan", `${nonce}=${lab.folder}`]).status).toBe(2);
    expect(existsSync(join(victim, "deep"))).toBe(true);
  },
);

it.each(["../a.1", "a/b.1", "a.b", "a.0", ".1", "a", `${"a".repeat(65)}.1`])(
  "nor is %j the name of a run",
  async (name) => {
    const child = spawn(keeperBinary().path, ["run", name, "0".repeat(32)], { stdio: ["pipe", "ignore", "ignore"] });
    child.stdin.on("error", () => undefined);
    child.stdin.end("end\0");
    expect((await ended(child)).code).toBe(2);
  },
);

it("an intent and a claim with a path for a nonce: nothing is deleted, and the run is shown as damaged", async () => {
  const victim = join(lab.folder, "victim");
  mkdirSync(join(victim, "deep"), { recursive: true });
  const record = await lab.sh("exit 0");
  await lab.workspace.runs.wait([record.agent]);
  const nonce = `/../../..${victim}`;
  mkdirSync(lab.runDir(record), { recursive: true }); // It is sealed: the agent makes a folder again.
  for (const [name, fact] of Object.entries({ "intent.json": lab.intent(record), claim: lab.fact(record, "claim") }))
    writeFileSync(join(lab.runDir(record), name), JSON.stringify({ ...(fact as object), nonce }));
  writeFileSync(join(lab.root, "active", `${record.agent}.1`), `${record.task}/runs/${record.agent}/1\n`);
  const show = await lab.cli("show", record.agent);
  expect(show.stdout).toContain("Damaged: intent.json");
  for (const command of [["ls", "--all"], ["reap"], ["stop", record.agent], ["up", "--once"]])
    expect((await lab.cli(...command)).stderr).not.toContain("INTERNAL");
  expect(existsSync(join(victim, "deep"))).toBe(true);
  rmSync(lab.runDir(record), { recursive: true, force: true });
});
