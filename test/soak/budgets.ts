/**
 * A budget of all workspaces of a user over agents in two of them, while those who watch are killed: what they spend together is over by no more
 * than the call that each was in, the ledger says what the logs say, what starts afterwards waits, and each that waited starts once when it is raised.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { spendingCli } from "../support/cli/spending-cli.ts";
import { pick, random } from "../support/data/random.ts";
import { patient } from "../support/patience.ts";
import { CLI, Lab, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

/** As fast as a model may answer, and slower than anybody needs to see it. */
const CALL_MS = 1500;
const ENDED_MS = 90_000;

type Fail = (what: string) => void;

export function budgets(count: number, seed: number): Promise<Report> {
  return campaign("budgets, killed and raised", count, seed, async (fail, figures) => {
    const next = random(seed);
    for (const round of rounds(count)) {
      const before = { path: process.env["PATH"], state: process.env["XDG_STATE_HOME"] };
      const folder = mkdtempSync(join(tmpdir(), "midwatch-budgets-"));
      process.env["XDG_STATE_HOME"] = join(folder, "state");
      const usd = pick(next, [0.01, 0.02, 0.05]);
      process.env["PATH"] = `${spendingCli(folder, { usdPerCall: usd, everyMs: CALL_MS })}${delimiter}${before.path}`;
      const labs = [new Lab(), new Lab()] as const;
      try {
        const over = await play(labs, usd, next, (what) => fail(`round ${round}: ${what}`));
        figures["rounds"] = round + 1;
        figures["most over, in calls of each that lived"] = Math.max(
          Number(figures["most over, in calls of each that lived"] ?? 0),
          over,
        );
      } finally {
        for (const lab of labs) await lab.end();
        process.env["PATH"] = before.path;
        process.env["XDG_STATE_HOME"] = before.state;
        rmSync(folder, { recursive: true, force: true });
      }
    }
  });
}

/** Gives how many calls each of those that lived made, when all was spent. */
async function play(labs: readonly [Lab, Lab], usd: number, next: () => number, fail: Fail): Promise<number> {
  const live = 2 + Math.floor(next() * 5);
  const most = usd * (live + 1 + Math.floor(next() * 2 * live));
  const [first] = labs;
  await first.workspace.budgets.set({ period: "day", reach: "user" }, { unit: "usd", most }, "stop");
  const watchers = labs.map((lab) => [watcher(lab), watcher(lab)]);
  // Whoever leads is killed now and then; the other one follows.
  const killsOne = (): void => {
    const n = Math.floor(next() * labs.length);
    const of = watchers[n] as ReturnType<typeof watcher>[];
    of.shift()?.kill("SIGKILL");
    of.push(watcher(labs[n] as Lab));
  };
  const started: [Lab, RunRecord][] = [];
  for (let n = 0; n < live; n++) {
    const lab = pick(next, labs);
    started.push([lab, await start(lab)]);
  }
  let killed = 0;
  await until(
    async () => {
      if (next() < 0.01 && killed < 2 && ++killed) killsOne();
      return (await outcomes(started)).every((outcome) => outcome !== null);
    },
    ENDED_MS,
    "all have ended",
  );
  if ((await outcomes(started)).some((outcome) => outcome !== "limit")) fail(`ended with ${await outcomes(started)}`);
  const truth = started.reduce((sum, [, { log }]) => sum + calls(log) * usd, 0);
  const [state] = await first.workspace.budgets.show();
  if (Math.abs((state?.spent ?? 0) - truth) > 1e-6) fail(`the ledger says ${state?.spent}, the logs ${truth}`);
  const over = (truth - most) / usd / live;
  // Until the other one follows a killed leader each may make another call.
  if (over > 1 + killed) fail(`${truth} of ${most} spent by ${live} at ${usd} a call, ${killed} killed`);

  const held: [Lab, RunRecord][] = [];
  for (let n = 0; n < 3; n++) {
    const lab = pick(next, labs);
    held.push([lab, await start(lab)]);
  }
  for (const [, { agent, wake }] of held) if (wake?.on !== "budget") fail(`${agent} does not wait`);
  killsOne();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  if (held.some((one) => starts(one) > 0)) fail("one was started while the budget was spent");
  await first.workspace.budgets.raise({ period: "day" }, { unit: "usd", most: most * 100 });
  if (next() < 0.5) killsOne();
  await until(() => held.every((one) => starts(one) > 0), ENDED_MS, "all that waited are started");
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const one of held) if (starts(one) !== 1) fail(`${one[1].agent} was started ${starts(one)} times`);
  const told = labs.flatMap((lab) => events(lab, "budget.reached").map(({ content }) => content.split(" is spent")[0]));
  if (new Set(told).size !== told.length) fail(`told twice: ${told.join("; ")}`);
  for (const child of watchers.flat()) child.kill("SIGKILL");
  return Math.round(over * 100) / 100;
}

const watcher = (lab: Lab): ReturnType<Lab["node"]> => lab.node(CLI, "--workspace", lab.root, "up", "--no-http");

function start(lab: Lab): Promise<RunRecord> {
  return lab.workspace.runs.start({ driver: "claude", prompt: "go on for ever", mcp: false });
}

async function outcomes(started: readonly [Lab, RunRecord][]): Promise<(string | null)[]> {
  const records = await Promise.all(started.map(([lab, { agent }]) => lab.workspace.runs.show(agent)));
  await new Promise((resolve) => setTimeout(resolve, patient(20)));
  return records.map(({ outcome }) => outcome);
}

function calls(log: string): number {
  return lines(log).filter((line) => line.includes('"assistant"')).length;
}

function starts([lab, { agent }]: [Lab, RunRecord]): number {
  return events(lab, "agent.started").filter((event) => event.agent === agent).length;
}

function events(lab: Lab, type: string): { type: string; agent?: string; content: string }[] {
  return lines(join(lab.root, "events.log"))
    .map((line) => JSON.parse(line))
    .filter((event) => event.type === type);
}

function lines(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").filter(Boolean);
}
