import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { HealthRecord } from "../../src/journal/health.ts";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import { CLI, type Lab, until } from "../support/workspace.ts";

/** A line as a plain shell writes it. */
function shell(at: Lab, actor: string, type: string, content: string, agoMs = 0): void {
  const timestamp = new Date(Date.now() - agoMs).toISOString();
  appendFileSync(
    join(at.root, "events.log"),
    `${JSON.stringify({ interaction: 1, actor, type, content, timestamp })}\n`,
  );
}

async function health(at: Lab): Promise<HealthRecord & { code: number }> {
  const { code, stdout, stderr } = await midwatch(at.folder, ["health", "--json", "--workspace", at.root]);
  expect(stderr).toBe("");
  return { ...(JSON.parse(stdout) as HealthRecord), code };
}

it("R-003.21: an empty workspace is well, and nobody leads", async () => {
  const at = lab();
  expect(await health(at)).toMatchObject({
    code: 0,
    state: "ok",
    leader: { state: "none", holder: null },
    alive: [],
    paused: [],
    errors: [],
    snapshot: null,
    engine: { engine: "embedded", durable: true },
  });
  expect(existsSync(join(at.root, "leases"))).toBe(false); // Looking writes nothing.
});

it("R-003.10, R-003.21: heartbeats of processes and of plain events count the same; errors and elections are shown", async () => {
  const at = lab();
  const up = at.node(CLI, "up", "--workspace", at.root);
  // The lease is held a moment before its election is in the journal; on a busy disk the moment is long.
  await until(async () => (await at.workspace.up.health()).elections.length > 0);
  for (const ago of [90_000, 85_000, 8000, 1000]) shell(at, "Agent A", "heartbeat", "", ago);
  shell(at, "Agent B", "heartbeat", "", 60_000);
  shell(at, "Agent A", "error", "Failed to acquire lock on events.log");
  appendFileSync(join(at.root, "events.log"), "not an event\n");
  const seen = await health(at);
  expect(seen).toMatchObject({ code: 0, state: "warning", leader: { state: "held", term: 1, pid: up.pid } });
  expect(seen.alive).toMatchObject([
    { kind: "up", state: "alive", pid: up.pid },
    { actor: "Agent A", kind: "event", state: "alive", pid: null },
    { actor: "Agent B", kind: "event", state: "silent" },
  ]);
  const a = seen.alive[1];
  expect(Date.now() - Date.parse(a?.since ?? "")).toBeLessThan(60_000); // Since the last silence, not since the first sign.
  expect(seen.errors[0]).toMatchObject({ actor: "Agent A", content: "Failed to acquire lock on events.log" });
  expect(seen.elections).toMatchObject([{ term: 1 }]);
  await until(async () => (await health(at)).snapshot !== null);
});

it("R-003.21: what the leader has folded is not read again, and gives the same", async () => {
  const at = lab();
  shell(at, "Agent A", "error", "first");
  const up = at.node(CLI, "up", "--workspace", at.root);
  await until(() => existsSync(join(at.root, "registers", "health", "1.json")));
  up.kill("SIGKILL");
  shell(at, "Agent A", "error", "second");
  expect((await health(at)).errors.map(({ content }) => content)).toEqual(["first", "second"]);
  writeFileSync(join(at.root, "events.log"), ""); // Another journal: the fold is of no use.
  shell(at, "Agent A", "error", "third");
  expect((await health(at)).errors.map(({ content }) => content)).toEqual(["third"]);
});

it("R-003.20: checkpoint shows and sets the number in agent-<id>.checkpoint, and a consumer goes on behind it", async () => {
  const at = lab();
  const call = (...args: string[]) => midwatch(at.folder, ["checkpoint", ...args, "--json", "--workspace", at.root]);
  const file = join(at.root, "agent-bob.checkpoint");
  expect(JSON.parse((await call("bob")).stdout)).toEqual({ agent: "bob", interaction: null, file });
  for (let n = 1; n <= 4; n++)
    await at.workspace.journal.append({ interaction: n, actor: "a", type: "note", content: `${n}` });
  expect(JSON.parse((await call("bob", "2")).stdout)).toMatchObject({ interaction: 2 });
  expect(readFileSync(file, "utf8")).toBe("2\n");
  const seen: string[] = [];
  expect(await at.workspace.journal.consume("bob", ({ content }) => seen.push(content))).toBe(2);
  expect(seen).toEqual(["3", "4"]);
  expect(readFileSync(file, "utf8").split("\n")[0]).toBe("4");
  expect(JSON.parse((await call("bob")).stdout)).toMatchObject({ interaction: 4 });
  expect((await call("Bob")).stdout).toBe((await call("bob")).stdout);
  for (const bad of [["../bob"], ["bob", "x"], ["bob", "-1"], ["bob", "1.5"], ["b b"]])
    expect((await call(...bad)).code, bad.join(" ")).toBe(2);
});

it("leader --watch tells each change once", async () => {
  const at = lab();
  const watch = at.node(CLI, "leader", "--watch", "--json", "--workspace", at.root);
  let text = "";
  watch.stdout?.on("data", (part) => {
    text += part;
  });
  const states = (): string[] =>
    text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).state);
  await until(() => states().length === 1);
  const up = at.node(CLI, "up", "--workspace", at.root);
  await until(() => states().length === 2);
  up.kill("SIGINT");
  await until(() => states().length === 3);
  expect(states()).toEqual(["none", "held", "resigned"]);
});

it("up --once leaves the round to the one that leads", async () => {
  const at = lab();
  at.node(CLI, "up", "--workspace", at.root);
  await until(async () => (await at.workspace.journal.leader()).state === "held");
  const { code, stderr } = await midwatch(at.folder, ["up", "--once", "--workspace", at.root]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("leads and does the rounds")]);
});
