/**
 * The watch is killed at random while logs grow, are moved by restarts and are compressed. In the end each run was read to its end, and
 * what was counted and summed over its lines is what one reading of the whole log gives: no line was lost, none counted twice.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { MidwatchError } from "../../src/core/errors.ts";
import type { ListRecord } from "../../src/core/types.ts";
import { type AgentSummary, openWorkspace, type Workspace } from "../../src/fleet/workspace.ts";
import { placeToolUser, TOKENS_EACH } from "../support/cli/tool-user.ts";
import { pick, random } from "../support/data/random.ts";
import { Lab, supportFile, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const OVER = ["drained", "archived", "launch_failed"];
const LIVE_MOST = 4;
const AGENTS_MOST = 8;

/** `count` kills. */
export function watchKills(count: number, seed = 1): Promise<Report> {
  return campaign("kills of the watch", count, seed, async (fail, figures) => {
    const next = random(seed);
    const lab = new Lab();
    const bin = placeToolUser(lab.folder);
    const env = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
    const workspace = openWorkspace({ workspace: lab.root, cwd: lab.folder, env, config: { grace: "500ms" } });
    let watcher: ChildProcess | undefined;
    const done = { started: 0, restarted: 0, archived: 0 };
    try {
      for (const _ of rounds(count)) {
        watcher = spawn(process.execPath, [supportFile("worker/watch-loop.ts"), lab.root], {
          stdio: ["ignore", "ignore", "inherit"],
        });
        const ended = once(watcher, "exit");
        const killAt = performance.now() + 150 + next() * 600;
        while (performance.now() < killAt) {
          await disturb(workspace, next, done);
          await sleep(30 + next() * 100);
        }
        watcher.kill("SIGKILL");
        await ended;
      }
      await until(
        async () => (await workspace.runs.list({ all: true })).every(({ phase }) => OVER.includes(phase)),
        60_000,
        "all agents end",
      );
      const last = workspace.verdicts.rounds();
      await until(async () => !(await last.round()).more, 30_000, "all is read");
      figures["lines"] = await check(workspace, lab.root, fail);
      Object.assign(figures, done);
    } finally {
      watcher?.kill("SIGKILL");
      workspace.close();
      await lab.end();
    }
  });
}

async function disturb(workspace: Workspace, next: () => number, done: Record<string, number>): Promise<void> {
  const all = await workspace.runs.list({ all: true });
  const over = all.filter(({ phase }) => OVER.includes(phase));
  const live = all.length - over.length;
  try {
    if (live < LIVE_MOST && all.length < AGENTS_MOST) {
      await workspace.runs.start({ driver: "claude", prompt: `USES=${Math.floor(next() * 150)} of the parser` });
      done["started"] = (done["started"] ?? 0) + 1;
    } else if (over.length > 0 && next() < 0.5 && live < LIVE_MOST) {
      await workspace.runs.restart(pick(next, over).agent);
      done["restarted"] = (done["restarted"] ?? 0) + 1;
    } else if (over.length > 0) {
      await workspace.files.archive(pick(next, over).agent);
      done["archived"] = (done["archived"] ?? 0) + 1;
    }
  } catch (error) {
    if (!(error instanceof MidwatchError)) throw error; // Archived already, or started by then.
  }
}

/** The number of lines in all logs. */
async function check(workspace: Workspace, root: string, fail: (what: string) => void): Promise<number> {
  let total = 0;
  const stored = summariesIn(workspace);
  for (const record of await workspace.runs.list({ all: true })) {
    const { runs } = await workspace.runs.show(record.agent);
    for (const { run } of runs) {
      const log = await readWhole(workspace, record, run);
      total += log.line;
      const said = stored.get(`${record.agent}.${run}`);
      const seen = said && { ...said.position, tools: said.tools, input: said.tokens?.input ?? 0 };
      const due = { offset: log.offset, line: log.line, checksum: log.checksum, missed_bytes: 0, tools: log.tools };
      if (said?.final !== true) fail(`${record.agent}.${run} was not read to its end`);
      const input = log.tools * TOKENS_EACH;
      if (JSON.stringify(seen) !== JSON.stringify({ ...due, input }))
        fail(`${record.agent}.${run}: ${JSON.stringify(seen)} instead of ${JSON.stringify({ ...due, input })}`);
    }
    const ids = history(root, record).map(({ id }) => id);
    if (new Set(ids).size !== ids.length) fail(`${record.agent}: a change is twice in its history`);
  }
  if (workspace.verdicts.positions.all().length > 0) fail("places of ended runs are left");
  return total;
}

function summariesIn(workspace: Workspace): Map<string, AgentSummary> {
  return new Map(workspace.verdicts.positions.summaries().map((one) => [`${one.instance_id}.${one.run}`, one]));
}

async function readWhole(
  workspace: Workspace,
  { agent }: ListRecord,
  run: number,
): Promise<{ offset: number; line: number; checksum: number; tools: number }> {
  const read = { offset: 0, line: 0, checksum: 0, tools: 0 };
  for await (const { raw } of workspace.logs.read(agent, { run })) {
    read.offset = raw.end;
    read.line++;
    read.checksum = crc32("\n", crc32(raw.bytes, read.checksum));
    if (raw.bytes.includes('"tool_use"')) read.tools++;
  }
  return read;
}

function history(root: string, { task, agent }: ListRecord): { id: string }[] {
  const path = join(root, task, "summaries", agent, "summary_history.jsonl");
  return readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { id: string });
}
