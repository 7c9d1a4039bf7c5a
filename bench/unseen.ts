/**
 * The first list of a workspace in which thousands of agents ended while nobody looked: the whole command, beside reading one fact of
 * each of them with find and cat. Cleaning up after them has to wait for others.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "../src/index.ts";
import { unseen } from "../test/support/data/unseen.ts";
import { both, median, times } from "./support/figures.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
const BAR_S = 1;

export async function bench(options: Options): Promise<Row[]> {
  const count = options.quick ? 300 : 3000;
  const rounds = options.quick ? 2 : 5;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i++) {
    options.say(`${count} agents that ended unseen, round ${i + 1}`);
    const root = join(options.dir, `unseen-${i}`);
    await crowd(root, count);
    theirs.push(timed(count, "find", root, "-name", "done.json", "-exec", "cat", "{}", "+"));
    ours.push(timed(count, process.execPath, BUNDLE, "ls", "--json", "--workspace", root));
  }
  return [
    row({
      promise: "unseen",
      figure: `the first \`ls\` of ${count} agents that ended unseen`,
      measured: both(ours, " s"),
      peer: `find and cat of one fact of each: ${both(theirs, " s")}`,
      ratio: times(median(ours) / median(theirs)),
      ...atMost(median(ours), BAR_S, " s"),
      note: `the whole command, ${rounds} rounds, a workspace each`,
    }),
  ];
}

async function crowd(root: string, count: number): Promise<void> {
  using workspace = openWorkspace({ workspace: root, make: true });
  const record = await workspace.runs.start({ argv: ["echo", "done"] });
  await workspace.runs.wait([record.agent]);
  unseen(workspace.root, record, count - 1);
}

/** Seconds by the clock; it must tell all of them. */
function timed(count: number, program: string, ...args: string[]): number {
  const begun = performance.now();
  const { stdout, status } = spawnSync(program, args, { encoding: "utf8", timeout: 120_000, maxBuffer: 1 << 28 });
  const seconds = (performance.now() - begun) / 1000;
  const lines = stdout.split("\n").filter(Boolean).length;
  if (status !== 0 || lines !== count) throw new Error(`${program} told ${lines} of ${count} (exit ${status})`);
  return seconds;
}
