/** A Node program that prints and calls process.exit(): what arrives in midwatch's log, and what through a pipe. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openWorkspace } from "../src/index.ts";
import { type Options, type Row, row } from "./support/row.ts";

const LINES = 200;
const ROUNDS = 5;
const PROGRAM = `for (let i = 0; i < ${LINES}; i++) console.log(String(i).padStart(6, "0") + "x".repeat(19_994));
process.exit(0);
`;

export async function bench(options: Options): Promise<Row[]> {
  const script = join(options.dir, "prints-and-exits.mjs");
  writeFileSync(script, PROGRAM);
  const version = execFileSync("node", ["--version"], { encoding: "utf8" }).trim();
  const kept: number[] = [];
  const slow: number[] = [];
  const prompt: number[] = [];
  const workspace = openWorkspace({ workspace: join(options.dir, "workspace"), make: true });
  try {
    for (let i = 0; i < ROUNDS; i++) {
      const run = await workspace.runs.start({ argv: ["node", script] });
      await workspace.runs.wait([run.agent], { timeoutMs: 30_000 });
      kept.push(wholeLines(run.log));
      slow.push(piped(options, script, "(sleep .5; cat)"));
      prompt.push(piped(options, script, "cat"));
    }
  } finally {
    workspace.close();
  }
  const least = Math.min(...kept);
  return [
    row({
      promise: "nothing lost",
      figure: `Node ${version} prints ${LINES} lines of 20 KB and calls process.exit()`,
      measured: `${least} of ${LINES} lines arrive`,
      peer: `\`| (sleep .5; cat)\`: ${range(slow)}, \`| cat\`: ${range(prompt)}`,
      bar: `${LINES} of ${LINES}`,
      holds: least === LINES,
      note: `${ROUNDS} rounds, the worst of them`,
    }),
  ];
}

function piped(options: Options, script: string, reader: string): number {
  const file = join(options.dir, "piped.log");
  execFileSync("sh", ["-c", `node "$0" | ${reader} > "$1"`, script, file], { timeout: 30_000 });
  return wholeLines(file);
}

function wholeLines(path: string): number {
  const lines = readFileSync(path, "latin1").split("\n").slice(0, -1);
  return lines.filter((line, i) => line.length === 20_000 && Number(line.slice(0, 6)) === i).length;
}

const range = (values: readonly number[]): string => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? `${low}` : `${low} to ${high}`;
};
