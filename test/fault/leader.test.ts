// Leaders that crash, hang, wake up again and get their clocks set; lines that are forged. Times are printed, not judged.
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { uuidv7 } from "../../src/core/ids.ts";
import { layout } from "../../src/disk/layout.ts";
import { takeLock } from "../../src/disk/lock.ts";
import type { JournalEvent } from "../../src/journal/event.ts";
import type { Leadership } from "../../src/journal/leader.ts";
import { leaderStops } from "../soak/leader-stops.ts";
import { clockOf } from "../support/fault/clock.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, supportFile, text, until } from "../support/workspace.ts";

const HOUR = 3_600_000;

it("R-003.11, R-003.19: leaders are stopped at named points or killed 30 times: another follows, nobody sees a stale line", async () => {
  const { failures, figures } = await leaderStops(30, 1);
  console.log("leaders stopped and killed", figures);
  expect(failures).toEqual([]);
  expect(figures["stale or forged, seen by nobody"]).toBeGreaterThan(0); // The faults have bitten.
});

function up(at: Lab, ...args: string[]) {
  const child = at.node(CLI, "up", "--json", "--workspace", at.root, ...args);
  let text = "";
  child.stdout?.on("data", (part) => {
    text += part;
  });
  child.stderr?.on("data", (part) => {
    text += part;
  });
  return { child, text: () => text };
}

async function leader(
  at: Lab,
  pid: number | undefined,
  state: Leadership["state"] = "held",
  ms = 30_000,
): Promise<void> {
  const is = async (): Promise<boolean> => {
    const found = await at.workspace.journal.leader();
    return found.pid === pid && found.state === state;
  };
  await until(is, ms, `${pid} leads (${state})`);
}

/** Not in the middle of a transaction: the registry's lock would stand still with it, and nothing could be started (database.test.ts). */
async function standStill(at: Lab, child: ChildProcess): Promise<void> {
  for (;;) {
    child.kill("SIGSTOP");
    try {
      at.workspace.runs.makeTask("the registry can be written");
      return;
    } catch {
      child.kill("SIGCONT");
      await sleep(20);
    }
  }
}

it.each(["SIGKILL", "SIGSTOP"] as const)(
  "R-003.10, R-003.11: `midwatch up` gets %s: the one that stood by leads, and queued agents go on",
  async (signal) => {
    const ttl = `${patient(2000)}ms`; // A leader that gets no turn for so long has lost its lease, and rightly.
    const at = lab({ leader_ttl: ttl });
    const flags = ["--leader-ttl", ttl, "--max-running", "1"];
    const first = up(at, ...flags);
    await leader(at, first.child.pid);
    const second = up(at, ...flags);
    await until(async () => (await at.workspace.up.health()).alive.length === 2);
    // None ends before the take-over, so the first leader is in no launch when it is stopped: one that stood still would be given up.
    const wait = `until [ -e "${at.folder}/go" ]; do sleep 0.02; done`;
    const agents: string[] = [];
    for (let i = 0; i < 6; i++)
      agents.push((await at.workspace.runs.start({ argv: ["sh", "-c", wait], queue: true })).agent);
    await until(async () => (await at.workspace.runs.list()).some(({ phase }) => phase === "running"));
    const begun = performance.now();
    if (signal === "SIGSTOP") await standStill(at, first.child);
    else first.child.kill(signal);
    await leader(at, second.child.pid);
    console.log(`${signal}: followed after ${Math.round(performance.now() - begun)} ms, ttl ${ttl}`);
    writeFileSync(join(at.folder, "go"), "");
    const { alive, leader: now } = await at.workspace.up.health();
    expect(now).toMatchObject({ state: "held", term: 2, pid: second.child.pid });
    const left = alive.find(({ pid }) => pid === first.child.pid);
    expect(signal === "SIGKILL" ? [undefined, "gone"] : ["silent"]).toContain(left?.state);
    await until(async () => (await at.workspace.runs.list()).every(({ phase }) => phase === "drained"), 60_000);
    first.child.kill("SIGCONT");
    await sleep(500);
    await leader(at, second.child.pid);
    expect(first.text()).not.toContain('"term":3');
  },
);

it("R-003.11: a process that stands still while it renders the snapshot does not hold up the leader's rounds", async () => {
  const at = lab();
  const { child } = up(at, "--max-running", "1");
  await leader(at, child.pid);
  const lock = await takeLock(layout(at.root).snapshotLock, 10_000); // As one that was stopped in the middle has it.
  expect(lock).toBeDefined();
  for (let i = 0; i < 4; i++) await at.workspace.runs.start({ argv: ["true"], queue: true });
  // Each start needs a round of its own; a round that waits for the lock takes 10 s.
  await until(async () => (await at.workspace.runs.list()).every(({ phase }) => phase === "drained"), 25_000);
  lock?.release();
});

it("R-003.11: `midwatch up` that is told to end gives the lease back, and the other follows", async () => {
  const at = lab();
  const first = up(at, "--leader-ttl", "10m"); // It cannot be waited for.
  await leader(at, first.child.pid);
  const second = up(at, "--leader-ttl", "10m");
  await until(async () => (await at.workspace.up.health()).alive.length === 2);
  first.child.kill("SIGINT");
  await leader(at, second.child.pid);
  second.child.kill("SIGTERM");
  await leader(at, second.child.pid, "resigned");
});

it("R-003.11: a forged election in events.log changes nothing: not the leader, not what is seen", async () => {
  const at = lab();
  const { child } = up(at);
  await leader(at, child.pid);
  const forged = {
    v: 1,
    id: uuidv7(),
    interaction: 1,
    actor: "forger",
    type: "leader_election",
    content: "me",
    term: 9,
  };
  const lines = [forged, { ...forged, id: uuidv7(), type: "order", content: "obey" }];
  for (const line of lines)
    appendFileSync(
      join(at.root, "events.log"),
      `${JSON.stringify({ ...line, timestamp: new Date().toISOString() })}\n`,
    );
  const plain = { interaction: 1, actor: "shell", type: "note", content: "hello", timestamp: new Date().toISOString() };
  appendFileSync(join(at.root, "events.log"), `${JSON.stringify(plain)}\n`);
  await until(() => text(join(at.root, "communication.md")).includes("hello"));
  const seen: string[] = [];
  for await (const { event } of at.workspace.journal.events()) seen.push(event.actor);
  expect(seen).not.toContain("forger");
  expect(seen).toContain("shell");
  expect(await at.workspace.journal.leader()).toMatchObject({ pid: child.pid, term: 1, state: "held" });
  expect((await at.workspace.up.health()).elections.map(({ term }) => term)).toEqual([1]);
  const { stdout } = await at.cli("events", "--json");
  expect(stdout).not.toContain("forger");
  expect(text(join(at.root, "communication.md"))).not.toMatch(/obey/);
});

it("R-003.10: wall clocks of leader and followers are set by an hour and a day: no election, nothing stale", async () => {
  const at = lab();
  const jumps = [0, HOUR, -HOUR, 24 * HOUR, -24 * HOUR];
  const workers = ["a", "b", "c"].map((name) => {
    const clock = clockOf(at.folder, name, jumps);
    const child = spawn(
      process.execPath,
      [...clock.execArgv, supportFile("worker/leader-worker.ts"), at.root, String(patient(2000))],
      {
        env: { ...process.env, ...clock.env },
        stdio: ["ignore", "ignore", "inherit", "ipc"],
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    return { clock, child };
  });
  console.log(`clocks set by ${workers[0]?.clock.by}`);
  await until(async () => (await at.workspace.journal.leader()).state === "held");
  const before = await at.workspace.journal.leader();
  for (const jump of [HOUR, -HOUR, 24 * HOUR, -24 * HOUR, 0])
    for (const { clock } of workers) {
      clock.set(jump);
      await sleep(patient(400)); // A few looks of the leader, however long its lease.
    }
  expect(await at.workspace.journal.leader()).toMatchObject({
    holder: before.holder,
    term: before.term,
    state: "held",
  });
  const stamps: number[] = [];
  for await (const { event } of at.workspace.journal.events({ type: "led" })) {
    expect((event as JournalEvent).term).toBe(before.term);
    stamps.push(Date.parse(event.timestamp));
  }
  expect(stamps.length).toBeGreaterThan(10); // Each jump takes the term away until the next renewal.
  expect(Math.max(...stamps) - Math.min(...stamps)).toBeGreaterThan(23 * HOUR); // The clocks were wrong indeed.
});
