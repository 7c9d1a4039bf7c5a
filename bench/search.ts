/** `midwatch search` over many small logs, beside ripgrep over the same workspace: what counts is how little is done for each log. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { best, both, interleave, median, times } from "./support/figures.ts";
import { manyAgents } from "./support/many-agents.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));
const ROUNDS = 7;
const BAR = 3;
const NEEDLE = "a needle in a log";

export async function bench(options: Options): Promise<Row[]> {
  if (!existsSync(BUNDLE)) throw new Error("dist/midwatch.js is missing: npm run build");
  const count = options.quick ? 300 : 3000;
  options.say(`making a workspace of ${count} ended agents`);
  const root = await manyAgents(join(options.dir, "search"), count, NEEDLE);
  const hits = count / 100;
  const [ours, theirs, logsOnly]: [number[], number[], number[]] = [[], [], []];
  const variants: Record<string, () => Promise<void>> = {
    midwatch: async () => void ours.push(timed(hits, process.execPath, BUNDLE, "search", "--workspace", root, NEEDLE)),
  };
  const hasRg = spawnSync("rg", ["--version"]).status === 0;
  if (hasRg) {
    variants["rg"] = async () => void theirs.push(timed(hits, "rg", "-uu", "-F", NEEDLE, root));
    variants["rg logs"] = async () =>
      void logsOnly.push(timed(hits, "rg", "-uu", "-F", "-g", "*_stream.jsonl", NEEDLE, root));
  } else options.say("SKIPPED: rg is not here, so the bar is not checked: apt-get install ripgrep");
  await interleave(variants, ROUNDS + 1); // The first fills the caches.
  for (const all of [ours, theirs, logsOnly]) all.shift();
  const base = { promise: "search", figure: `${count} small logs of ended agents`, measured: both(ours, " s") };
  if (!hasRg)
    return [row({ ...base, bar: `≤ ${BAR} x`, note: "NOT CHECKED: rg is not here (apt-get install ripgrep)" })];
  const ratio = median(ours) / median(theirs);
  return [
    row({
      ...base,
      peer: `\`rg -uu -F\` over the workspace: ${both(theirs, " s")}`,
      ratio: `${times(ratio)} (best ${times(best(ours) / best(theirs))})`,
      ...(options.quick ? {} : atMost(ratio, BAR, " x")), // Of few logs only the start of Node is seen.
      note: `the whole command; rg over the files of stdout alone: ${both(logsOnly, " s")}`,
    }),
  ];
}

/** Seconds by the clock; it must find what is there. */
function timed(hits: number, program: string, ...args: string[]): number {
  const begun = performance.now();
  const { stdout, status } = spawnSync(program, args, { encoding: "utf8", timeout: 120_000 });
  const seconds = (performance.now() - begun) / 1000;
  const found = stdout.split("\n").filter((line) => line.includes(NEEDLE)).length;
  if (status !== 0 || found !== hits) throw new Error(`${program} found ${found} of ${hits} lines (exit ${status})`);
  return seconds;
}
