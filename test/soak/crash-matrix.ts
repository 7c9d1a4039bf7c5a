/**
 * kill -9 of the agent and of every process above the keeper, at random moments under output load: no byte that the agent
 * printed is lost, exit and index are right, and the next process that looks sees the truth.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MidwatchError } from "../../src/core/errors.ts";
import type { ShowRecord } from "../../src/core/types.ts";
import { output } from "../support/cli/output.ts";
import { checkIndex, indexAt } from "../support/data/index-check.ts";
import { pick, random } from "../support/data/random.ts";
import { patient } from "../support/patience.ts";
import { CLI, ended, Lab, supportFile } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const EXIT = 7;

export function crashMatrix(count: number, seed = 1): Promise<Report> {
  return campaign("crash matrix", count, seed, async (fail, figures) => {
    const next = random(seed);
    const total = { agent: 0, above: 0, "never started": 0, bytes: 0 };
    for (const round of rounds(count)) {
      const lab = new Lab({ tier: pick(next, ["auto", "subreaper"]) });
      const say = (what: string): void => fail(`round ${round} of seed ${seed}: ${what}`);
      try {
        const seen = await oneRound(lab, next, say);
        total[seen.what]++;
        total.bytes += seen.bytes;
      } catch (error) {
        say(String(error instanceof Error ? error.stack : error));
      } finally {
        await lab.end().catch((error) => say(String(error)));
      }
    }
    Object.assign(figures, total);
  });
}

type Seen = { what: "agent" | "above" | "never started"; bytes: number };

async function oneRound(lab: Lab, next: () => number, say: (what: string) => void): Promise<Seen> {
  const victim = pick(next, ["agent", "above"] as const);
  const seed = Math.floor(next() * 1e9);
  const bytes = 500_000 + Math.floor(next() * 2_500_000);
  const side = join(lab.folder, "side");
  const args = [String(seed), String(bytes), String(EXIT), side, String(Math.floor(next() * 400))];
  // Above the keeper: the launcher that waits, one that follows the log, one that lists again and again.
  const launcher = lab.node(
    CLI,
    ...["run", "--json", "--wait", "--workspace", lab.root, "--", process.execPath, supportFile("cli/printer.ts")],
    ...args,
  );
  const above = [launcher];
  const launched = lines(launcher);
  if (victim === "above") {
    // Any moment of its life, those of the launch included: the CLI needs some 300 ms to get there.
    if (next() < 0.7) await launched;
    await sleep(next() < 0.5 ? 200 + next() * 250 : 0);
    const found = (await lab.workspace.runs.list())[0];
    if (found && found.phase !== "intended") {
      above.push(lab.node(CLI, "logs", "-f", "--workspace", lab.root, found.agent));
      above.push(lab.node(CLI, "ls", "--workspace", lab.root));
      await sleep(next() * 400);
    }
    for (const process of above) process.kill("SIGKILL");
    // One that has ended by itself tells it no more.
    const left = above.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(left.map((process) => ended(process)));
  } else {
    await launched;
    await sleep(next() * 300);
  }
  const [agent] = await lab.open().runs.list({ all: true });
  if (agent === undefined) {
    if (existsSync(side)) say("an agent printed and no row tells of it");
    return { what: "never started", bytes: 0 };
  }
  if (victim === "agent") {
    const { pid } = (await lab.workspace.runs.show(agent.agent)).runs[0] ?? {};
    if (pid) kill(pid);
  }
  const [over] = await lab
    .open()
    .runs.wait([agent.agent], { timeoutMs: patient(30_000) })
    .catch((error: MidwatchError) => {
      if (error.code !== "NOT_FOUND_AGENT") throw error;
      return []; // Killed before its intent was written: given up by the launch time-out, and nothing tells of it.
    });
  // Killed between its intent and its keeper: given up too, and told.
  if (over === undefined || over.phase === "intended" || over.phase === "launch_failed") {
    if (existsSync(side)) say("an agent printed and was given up");
    return { what: "never started", bytes: 0 };
  }
  await verify(lab, over, { seed, bytes, side, killed: victim === "agent" }, say);
  return { what: victim, bytes: over.bytes ?? 0 };
}

interface Expected {
  seed: number;
  bytes: number;
  side: string;
  killed: boolean;
}

async function verify(lab: Lab, over: ShowRecord, expected: Expected, say: (what: string) => void): Promise<void> {
  const log = await lab.raw(over.agent);
  const must = output(expected.seed, expected.bytes);
  const complete = existsSync(expected.side) ? completed(expected.side) : 0;
  if (!log.equals(must.subarray(0, log.length))) say(`the log is not what was printed (${log.length} bytes)`);
  if (log.length < complete) say(`${complete - log.length} bytes of completed writes are lost`);
  // A signal that came after its last write meets an agent that is ending by itself.
  const whole = log.length === expected.bytes && over.exit.code === EXIT;
  const killed = over.exit.signal === "SIGKILL" && over.exit.code === null;
  if (expected.killed ? !killed && !whole : !whole) say(`exit ${JSON.stringify(over.exit)}, ${log.length} bytes`);
  if (over.phase !== "drained" || over.outcome !== "failed") say(`${over.phase} ${over.outcome}`);
  if (over.bytes !== log.length) say(`show tells ${over.bytes} bytes, the log has ${log.length}`);
  const index = over.files.find(({ kind }) => kind === "index")?.path ?? "";
  for (const problem of checkIndex(log, indexAt(index))) say(`index: ${problem}`);
}

function completed(side: string): number {
  const bytes = readFileSync(side);
  return bytes.length === 8 ? Number(bytes.readBigUInt64LE()) : 0;
}

/** Until its first line: the run record. */
async function lines(launcher: ChildProcess): Promise<void> {
  launcher.stderr?.resume();
  await new Promise<void>((resolve) => {
    launcher.stdout?.once("data", () => resolve());
    launcher.once("exit", () => resolve());
  });
  launcher.stdout?.resume();
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
