/**
 * Cleaning up. Agents that end by themselves, all within a second, are cleaned up by `reap`: what that costs for each, and that nothing
 * is left over. And one stop with its cleanup and archive on a machine full of processes, beside the search through
 * `ps aux` that it does without.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { openWorkspace, type RunRecord, type Workspace } from "../src/index.ts";
import { leases } from "../src/process/keeper.ts";
import { both, interleave, median } from "./support/figures.ts";
import { finish, startReady, until } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const OTHERS = 1000;
const CPU_MS = 50;
const STOP_MS = 2000;

export async function bench(options: Options): Promise<Row[]> {
  return [await naturalEnds(options), await crowded(options)];
}

interface Looked {
  cpu: number;
  wall: number;
  /** What is not as it should be afterwards. */
  wrong: number;
}

async function naturalEnds(options: Options): Promise<Row> {
  const count = options.quick ? 20 : 100;
  const rounds: Looked[] = [];
  for (let i = 0; i < (options.quick ? 2 : 5); i++) {
    options.say(`${count} agents that end, round ${i + 1}`);
    rounds.push(await lookAfterEnds(join(options.dir, `ends-${i}`), count));
  }
  const each = rounds.map(({ cpu }) => cpu / count);
  const wrong = rounds.reduce((sum, one) => sum + one.wrong, 0);
  const walls = rounds.map(({ wall }) => wall);
  const bar = atMost(median(each), CPU_MS, " ms");
  return row({
    promise: "cleanup",
    figure: `${count} agents of one task ended by themselves; reap cleans up: CPU for each`,
    measured: `${both(each, " ms")}; ${wrong} left over`,
    bar: `${bar.bar}, 0 left over`,
    holds: bar.holds && wrong === 0,
    note: `${rounds.length} rounds; the whole of it takes ${both(walls, " ms")}; left over are prompts, states, counts and open logs`,
  });
}

async function lookAfterEnds(root: string, count: number): Promise<Looked> {
  using workspace = openWorkspace({ workspace: root, make: true, config: { max_agents: 2 * count } });
  const { task } = workspace.runs.makeTask("short ones");
  const records: RunRecord[] = [];
  for (let i = 0; i < count; i += 10) {
    const argv = ["sh", "-c", "echo done; sleep 0.5"];
    const some = Array.from({ length: Math.min(10, count - i) }, () =>
      workspace.runs.start({ argv, task, prompt: "p" }),
    );
    records.push(...(await Promise.all(some)));
  }
  const done = ({ agent }: { agent: string }): boolean => existsSync(join(root, task, "runs", agent, "1", "done.json"));
  await until("all have ended", () => records.every(done));
  using fresh = openWorkspace({ workspace: root });
  const before = process.cpuUsage();
  const begun = performance.now();
  await fresh.runs.reap();
  const wall = performance.now() - begun;
  const { user, system } = process.cpuUsage(before);
  const listed = await fresh.runs.list({ all: true });
  const unsettled = listed.filter(({ phase, outcome }) => phase !== "drained" || outcome !== "completed").length;
  const prompts = globSync("TASK-*/agent_prompt_*", { cwd: root }).length;
  const open = leases(records.map(({ log }) => log)).filter((state) => state !== "free").length;
  const unclean = records.filter(({ agent }) => !existsSync(join(root, task, "runs", agent, "1.json"))).length;
  const wrong = unsettled + prompts + open + unclean + Math.abs(listed.length - count);
  return { cpu: (user + system) / 1000, wall, wrong };
}

async function crowded(options: Options): Promise<Row> {
  const others = options.quick ? OTHERS / 10 : OTHERS;
  const bystanders = await startReady(options.load("still"), [String(others)]);
  using workspace = openWorkspace({
    workspace: join(options.dir, "crowded"),
    make: true,
    config: { archive_after: 0 },
  });
  const ours: number[] = [];
  const theirs: number[] = [];
  let failed = 0;
  try {
    await interleave(
      {
        midwatch: async () => {
          const stopped = await stopOne(workspace);
          ours.push(stopped.wall);
          failed += stopped.wrong;
        },
        ps: async () => void theirs.push(searchByText()),
      },
      options.quick ? 3 : 9,
    );
  } finally {
    await finish(bystanders);
  }
  const bar = atMost(median(ours), STOP_MS, " ms");
  return row({
    promise: "cleanup",
    figure: `one stop with files and archive among ${others} other processes`,
    measured: `${both(ours, " ms")}; ${failed} steps failed`,
    peer: `one search through \`ps aux\` alone: ${both(theirs, " ms")}`,
    ...bar,
    holds: bar.holds === true && failed === 0,
    note: `${ours.length} rounds`,
  });
}

async function stopOne(workspace: Workspace): Promise<{ wall: number; wrong: number }> {
  const { agent, log } = await workspace.runs.start({ argv: ["sh", "-c", "echo done; exec sleep 300"], prompt: "p" });
  await until("it has printed", () => existsSync(log));
  const begun = performance.now();
  const [report] = await workspace.runs.stop([agent], { graceMs: 1000 });
  const wall = performance.now() - begun;
  const bad = report?.files.filter(({ action }) => action === "failed").length ?? 1;
  return { wall, wrong: bad + (report?.verified ? 0 : 1) };
}

function searchByText(): number {
  const begun = performance.now();
  const lines = execFileSync("ps", ["aux"], { encoding: "utf8", maxBuffer: 1 << 28 }).split("\n");
  lines.filter((line) => line.includes("agent-") && line.toLowerCase().includes("claude"));
  return performance.now() - begun;
}
