/** Agents with a plain shell follow the orchestrator by events.log alone, take over when it is gone, and are followed. */
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { readProcess } from "../../src/process/identity.ts";
import { gather } from "../support/data/journal.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab, supportFile, text, until } from "../support/workspace.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const SECONDS = Math.ceil(patient(2000) / 1000);
const WAIT_MS = 60_000;

/** With `midwatch` on the PATH of whoever is started. */
function stage(): Lab {
  const at = lab({ leader_ttl: `${SECONDS}s` });
  const bin = join(at.folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "midwatch"), `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
  vi.stubEnv("MIDWATCH_LEADER_TTL", `${SECONDS}s`);
  return at;
}

function up(at: Lab, ...flags: string[]) {
  const child = at.node(CLI, "up", "--no-http", "--json", "--workspace", at.root, ...flags);
  let printed = "";
  child.stdout?.on("data", (part) => {
    printed += part;
  });
  return { child, printed: () => printed };
}

const logOf = async (at: Lab, { agent }: RunRecord): Promise<string> => (await at.raw(agent)).toString();

async function says(at: Lab, one: RunRecord, what: string): Promise<void> {
  await until(async () => (await logOf(at, one)).includes(what), WAIT_MS, `${one.agent} says: ${what}`);
}

function killMain(at: Lab, one: RunRecord): void {
  process.kill(at.startFact(one).main?.pid as number, "SIGKILL");
}

it("R-003.10, R-003.11, R-003.25, R-003.26: shell agents see by events.log alone that `midwatch up` was killed, one takes over, and is followed", async () => {
  const at = stage();
  const events = join(at.root, "events.log");
  const workspace = at.open();
  const agents: RunRecord[] = [];
  const first = up(at);
  await until(async () => (await workspace.journal.leader()).state === "held", WAIT_MS);
  for (const name of ["one", "two"])
    agents.push(
      await workspace.runs.start({
        name,
        argv: ["sh", supportFile("../fixtures/coordinator.sh"), `${SECONDS}`, events],
      }),
    );
  for (const one of agents) await says(at, one, `follows up-${first.child.pid}-`);
  first.child.kill("SIGKILL");
  const begun = performance.now();
  const elected = async (term: number) => (await workspace.up.health()).elections.find((one) => one.term === term);
  await until(async () => (await elected(2)) !== undefined, WAIT_MS, "an agent leads");
  console.log(`followed ${Math.round(performance.now() - begun)} ms after the kill, T ${SECONDS} s`);
  const by = (await elected(2))?.actor;
  const leading = agents.find(({ agent }) => agent === by) as RunRecord;
  const other = agents.find((one) => one !== leading) as RunRecord;
  await says(at, leading, `${leading.agent} leads (term 2)`);
  expect(await logOf(at, leading)).toContain(`no heartbeat for ${SECONDS} s`);
  // It is followed as any leader: by what it says in the journal, and by no other word.
  await says(at, other, `follows ${leading.agent}`);
  await until(() => text(events).includes("dispatching now"), WAIT_MS);
  killMain(at, leading);
  await says(at, other, `${other.agent} leads (term 3)`);
  // One that starts sees that it is not the leader; what has to be done is done all the same.
  const second = up(at);
  await until(() => second.printed().includes('"term":null'), WAIT_MS, "the second `up` stands by");
  const queued = await workspace.runs.start({ argv: ["true"], queue: true });
  await until(async () => (await workspace.runs.show(queued.agent)).outcome === "completed", WAIT_MS);
  expect(await workspace.journal.leader()).toMatchObject({ state: "held", term: 3 });
  expect((await workspace.runs.show(other.agent)).watched_by).toMatchObject({ by: "up", pid: second.child.pid });
  killMain(at, other);
  await until(() => second.printed().includes('"term":4'), WAIT_MS, "the second `up` leads");
  expect((await workspace.up.health()).elections.map(({ actor }) => actor.replace(/^up-.*/, "up"))).toEqual([
    "up",
    leading.agent,
    other.agent,
    "up",
  ]);
});

it("R-003.10: heartbeats of the leader are in no listing, no health and no alert unless asked for, one line of a snapshot, and only while agents live", async () => {
  const at = stage();
  const led = at.node(CLI, "lead", "--leader-ttl", "200ms", "--json", "--workspace", at.root);
  await until(async () => (await at.workspace.journal.leader()).state === "held", WAIT_MS);
  const beats = async (): Promise<number> => (await gather(at.workspace.journal.events({ type: "heartbeat" }))).length;
  expect(await beats()).toBe(0);
  const { agent } = await at.run("sleep", "600");
  await until(async () => (await beats()) >= 20, WAIT_MS);
  for (const n of [1, 2, 3])
    await at.workspace.journal.append({ interaction: n, actor: "A", type: "question", content: `q${n}` });
  const before = await beats();
  await until(async () => (await beats()) > before + 5, WAIT_MS);
  const shown = await gather(at.workspace.journal.events());
  expect(shown.map(({ event }) => event.type)).toEqual([
    "leader_election",
    "agent.started",
    "question",
    "question",
    "question",
  ]);
  expect((await at.cli("events", "--json")).stdout).not.toContain("heartbeat");
  const health = await at.workspace.up.health();
  expect(health.alive.filter(({ kind }) => kind === "event")).toEqual([]);
  await at.workspace.journal.snapshot();
  const [recent, archive] = ["communication.md", "archive.md"].map((name) => text(join(at.root, name)));
  // No number of theirs takes the place of a conversation.
  for (const n of [1, 2, 3]) expect(recent).toContain(`### Interaction #${n}\n`);
  expect(recent).not.toContain("heartbeat");
  // Before and behind the start of the agent.
  expect(archive?.match(/ heartbeat /g)?.length).toBeLessThanOrEqual(2);
  await at.workspace.runs.stop([agent]);
  const last = await beats();
  led.kill("SIGTERM");
  await until(async () => (await at.workspace.journal.leader()).state === "resigned", WAIT_MS);
  expect(await beats()).toBeLessThan(last + 5);
});

it("R-003.8: a heartbeat that an agent appends by itself is shown as before, and many of them in a row are one line", async () => {
  const at = lab();
  for (let i = 0; i < 3; i++)
    for (const actor of ["A", "A", "B"])
      await at.workspace.journal.append({ interaction: 1, actor, type: "heartbeat", content: `${actor}${i}` });
  await at.workspace.journal.snapshot();
  const once = text(join(at.root, "communication.md"));
  expect(once.match(/^ - .*/gm)).toEqual([" - A0", " - B0", " - A1", " - B1", " - A2", " - B2"]);
  expect(once.match(/#### heartbeat/g)).toHaveLength(6);
  expect(await gather(at.workspace.journal.events())).toHaveLength(9);
  // As a leader's: with a term.
  const beat = { ...makeEvent({ interaction: 1, actor: "B", type: "heartbeat", content: "leads" }), term: 1 };
  appendFileSync(join(at.root, "events.log"), `${JSON.stringify(beat)}\n`);
  await at.workspace.journal.snapshot();
  expect(text(join(at.root, "communication.md"))).toBe(once);
  await at.workspace.journal.snapshot({ rebuild: true });
  expect(text(join(at.root, "communication.md"))).toBe(once);
});

it("R-003.11: `midwatch lead` gives the lease back when it is told to end, and ends its command when the lease is lost", async () => {
  const at = stage();
  const started = join(at.folder, "pid");
  const child = at.node(CLI, "lead", "--workspace", at.root, "--", "sh", "-c", `sleep 600 & echo $! >${started}; wait`);
  await until(() => text(started) !== "", WAIT_MS);
  const below = Number(text(started));
  const late = await at.cli("lead", "--timeout", "100ms", "--json");
  expect([late.code, JSON.parse(late.stdout)]).toEqual([
    1,
    expect.objectContaining({ state: "not_elected", term: null }),
  ]);
  // It stands still for longer than its lease: another leads, and when it goes on it finds that out.
  child.kill("SIGSTOP");
  const next = at.node(CLI, "lead", "--workspace", at.root);
  await until(async () => (await at.workspace.journal.leader()).pid === next.pid, WAIT_MS);
  expect(readProcess(below)).toBeDefined();
  child.kill("SIGCONT");
  await until(() => child.exitCode === 1, WAIT_MS, "it ends with 1");
  await until(() => readProcess(below) === undefined, WAIT_MS, "what the command started is ended");
  next.kill("SIGTERM");
  await until(async () => (await at.workspace.journal.leader()).state === "resigned", WAIT_MS);
  const ran = await at.cli("lead", "--json", "--", "sh", "-c", "exit 7");
  expect(ran.code).toBe(7);
  expect(
    ran.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { state: "leads", term: 3 },
    { state: "ended", exit: 7 },
  ]);
  expect((await at.cli("lead", "--", "/no/such/program")).code).toBe(5);
});
