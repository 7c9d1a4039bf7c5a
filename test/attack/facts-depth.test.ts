/** JSON that is nested 10,000 deep, where an agent can write it: a bad line like any other, and nobody who reads it falls over. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { Puppets } from "../support/puppet.ts";
import { Lab, until } from "../support/workspace.ts";

const DEEP = `${'{"a":['.repeat(5000)}1${"]}".repeat(5000)}`;
let lab: Lab;
let record: RunRecord;
beforeEach(async () => {
  lab = new Lab();
  record = await lab.sh("echo first; echo last");
  await lab.workspace.runs.wait([record.agent]);
});
afterEach(() => lab.end());

/** Each is understood, and succeeds or fails with an error that says why. */
async function quiet(...commands: string[][]): Promise<void> {
  for (const command of commands) {
    const { code, stderr } = await lab.cli(...command);
    expect(`${command} ${code}: ${stderr}`).not.toMatch(/INTERNAL|RangeError|USAGE|null:/);
  }
}

it("in events.log: it is told once, and events, snapshot, health, metrics and rounds go on behind it", async () => {
  const event = { interaction: 1, actor: "A", type: "note", content: "deep", timestamp: "2026-01-01T00:00:00Z" };
  const line = JSON.stringify({ ...event, data: 0 }).replace(/0}$/, `${DEEP}}`);
  appendFileSync(join(lab.root, "events.log"), `${line}\n`);
  await lab.cli("event", "2", "B", "note", "behind it");
  await quiet(
    ["events"],
    ["events", "--json"],
    ["snapshot"],
    ["health"],
    ["metrics"],
    ["up", "--once"],
    ["watch", "--once"],
  );
  const { stdout } = await lab.cli("events", "--json");
  expect(stdout).toContain("behind it");
  expect(stdout).not.toContain('"deep"');
  // For 10 s it may be the beginning of an event that a shell writes in pieces.
  const quarantine = join(lab.root, "events.error.log");
  await until(async () => (await lab.cli("snapshot")).code === 0 && existsSync(quarantine), 30_000);
  await quiet(["snapshot"], ["up", "--once"]);
  expect(readFileSync(quarantine, "utf8").trim().split("\n")).toHaveLength(1);
  expect(readFileSync(join(lab.root, "communication.md"), "utf8")).toContain("behind it");
});

it("in a log of a CLI that speaks JSON: a parse_error, at logs, page, follow, search, verify and the watch", async () => {
  const puppets = new Puppets(lab);
  const puppet = await puppets.start();
  const { log } = puppet.record;
  appendFileSync(log, `{"type":"system"}\n{"type":"assistant","x":${DEEP}}\n{"type":"user","mark":"behind"}\n`);
  const { agent } = puppet;
  await quiet(
    ["logs", agent],
    ["logs", agent, "--pretty"],
    ["search", "behind"],
    ["timeline", agent],
    ["verify", agent],
  );
  await quiet(
    ["summary", agent],
    ["watch", "--once"],
    ["up", "--once"],
    ["cost"],
    ["jsonl", "verify", log],
    ["jsonl", "tail", log],
  );
  const { stdout } = await lab.cli("logs", agent, "--json");
  const records = stdout
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one));
  expect(records.map(({ type, data }) => [type, data?.mark])).toEqual([
    ["stdout", undefined],
    ["parse_error", undefined],
    ["stdout", "behind"],
  ]);
  expect(records[1]).toMatchObject({ line_number: 2, error: "nested deeper than 256 levels" });
  expect(JSON.parse((await lab.cli("jsonl", "verify", log, "--json")).stdout)).toMatchObject({
    ok: false,
    bad_count: 1,
  });
});

it("in what an agent prints, says of itself, is sent or keeps: no other reader of its folder falls over", async () => {
  const task = join(lab.root, record.task);
  const places = [
    record.log,
    join(lab.runDir(record), "messages.jsonl"),
    join(task, "progress", `${record.agent}_progress.jsonl`),
    join(task, "findings", `${record.agent}_findings.jsonl`),
    join(task, "summaries", record.agent, "summary_history.jsonl"),
    join(task, "summaries", record.agent, "latest_summary.json"),
    join(task, "summaries", record.agent, "second_opinion.json"),
    join(task, "runs", record.agent, "worktree.json"),
    join(lab.root, `agent-${record.agent}.checkpoint`),
    join(lab.root, "registers", "alerts", "99.json"),
    join(lab.root, "registers", "health", "99.json"),
    join(lab.root, "leases", "leader", "99.json"),
    join(lab.root, "heartbeats", "x.json"),
    join(lab.root, "snapshot.state"),
  ];
  for (const place of places) {
    mkdirSync(dirname(place), { recursive: true });
    appendFileSync(place, `${place.endsWith(".checkpoint") ? "1\n" : ""}${DEEP}\n`);
  }
  const other = await lab.sh("echo fine");
  const { agent } = record;
  await quiet(["ls", "--all"], ["show", agent], ["logs", agent, "--json"], ["messages", agent], ["status"]);
  await quiet(
    ["summary", agent],
    ["health"],
    ["leader"],
    ["snapshot"],
    ["checkpoint", agent],
    ["reap"],
    ["up", "--once"],
  );
  expect(JSON.parse((await lab.cli("show", other.agent, "--json")).stdout)).toMatchObject({ outcome: "completed" });
});

it("as data of an event or a finding: refused, with the reason", async () => {
  for (const command of [
    ["event", "1", "A", "note", "x", "--data", DEEP],
    ["finding", record.agent, "bug", "low", "x", "--data", DEEP],
  ]) {
    const { code, stderr } = await lab.cli(...command);
    expect([code, stderr]).toEqual([2, expect.stringContaining("nested deeper than 255 levels")]);
  }
});
