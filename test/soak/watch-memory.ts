/**
 * Minutes of work of many agents go through the watch in one process, as fast as it reads them: lines are put into the logs of agents that
 * do nothing themselves. What the process keeps, counted after a collection, must not grow with what it has read.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { speaker } from "../support/cli/speaker.ts";
import { random } from "../support/data/random.ts";
import { Lab } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

/** 50 lines a second. */
const LINES_A_MINUTE = 3000;
/** Some for the compiler; an hour of 20 agents is over a gigabyte. */
const GROWTH_MOST = 4 << 20;

/** `count` minutes. The first quarter warms up. */
export function watchMemory(count: number, seed = 1, agents = 20): Promise<Report> {
  return campaign("memory of the watch", count, seed, async (fail, figures) => {
    const next = random(seed);
    const lab = new Lab();
    try {
      const env = speaker(lab.folder, [], "exec sleep 3600");
      const workspace = lab.open({ env });
      const runs: RunRecord[] = [];
      const prompt = "Mend the parser, its lexer and the grammar so that all tests pass again";
      for (let i = 0; i < agents; i++) runs.push(await workspace.runs.start({ driver: "claude", prompt }));
      const watcher = workspace.verdicts.rounds();
      const samples: NodeJS.MemoryUsage[] = [];
      for (const minute of rounds(count)) {
        for (const [i, { log }] of runs.entries())
          appendFileSync(log, work(next, (minute * agents + i) * LINES_A_MINUTE));
        while ((await watcher.round()).more);
        samples.push(collected());
      }
      const read = workspace.verdicts.positions.all().reduce((sum, { line }) => sum + line, 0);
      if (read !== count * agents * LINES_A_MINUTE) fail(`${read} lines were read`);
      report(samples, fail, figures);
      figures["lines"] = read;
    } finally {
      await lab.end();
    }
  });
}

function report(
  samples: readonly NodeJS.MemoryUsage[],
  fail: (what: string) => void,
  figures: Report["figures"],
): void {
  const warm = samples.slice(Math.floor(samples.length / 4));
  const third = Math.max(1, Math.floor(warm.length / 3));
  const kept = (some: readonly NodeJS.MemoryUsage[]): number =>
    Math.min(...some.map(({ heapUsed, external }) => heapUsed + external));
  const first = kept(warm.slice(0, third));
  const last = kept(warm.slice(-third));
  if (last - first > GROWTH_MOST) fail(`from ${mib(first)} to ${mib(last)} after a collection`);
  figures["kept first"] = mib(first);
  figures["kept last"] = mib(last);
  figures["resident first"] = mib(warm[0]?.rss ?? 0);
  figures["resident last"] = mib(warm.at(-1)?.rss ?? 0);
}

let gc: (() => void) | undefined;

function collected(): NodeJS.MemoryUsage {
  setFlagsFromString("--expose-gc");
  gc ??= runInNewContext("gc") as () => void;
  gc();
  return process.memoryUsage();
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** A minute of lines, no two alike: words, tool calls, results of which some never come, errors, and what is no JSON. */
function work(next: () => number, from: number): string {
  let text = "";
  for (let n = from; n < from + LINES_A_MINUTE; n++) {
    const name = Math.floor(next() * 2 ** 32).toString(36);
    const usage = { input_tokens: 100, output_tokens: 10 };
    const message = (role: string, content: object): string =>
      JSON.stringify({ type: role, session_id: "s", message: { id: `m${n}`, usage, content: [content] } });
    const path = join("src", `${name}.ts`);
    const output = `${next() < 0.2 ? `Error: ${name} is not defined` : `ok ${name}`}\n${`${name} `.repeat(20)}`;
    const lines = [
      () => message("assistant", { type: "text", text: `Now I look at ${name} of the parser. ${name} `.repeat(3) }),
      () => message("assistant", { type: "tool_use", id: `t${n}`, name: "Read", input: { file_path: path } }),
      () => message("user", { type: "tool_result", tool_use_id: `t${n - 1}`, content: output }),
      () =>
        next() < 0.1 ? `no JSON ${name}` : message("user", { type: "tool_result", tool_use_id: name, content: output }),
    ];
    text += `${lines[n % lines.length]?.()}\n`;
  }
  return text;
}
