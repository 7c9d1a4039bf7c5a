/**
 * `npm run bench -- --against COMMIT [NAME...]`: is this tree slower than that commit? Both are built, their benches run in turns (A B B A),
 * and each row tells what our figure is to theirs, with a 95 % interval. An interval that holds 1.0 shows no difference.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compare, figureOf, rowsOf } from "./support/compare.ts";

const OURS = fileURLToPath(new URL("..", import.meta.url));
/** The least pairs with which an interval of 95 % can be told. */
const LEAST_PAIRS = 6;

export interface Against {
  commit: string;
  names: readonly string[];
  quick: boolean;
  pairs: number;
}

/** Prints the table. */
export async function against({ commit, names, quick, pairs }: Against): Promise<void> {
  if (pairs < LEAST_PAIRS) throw new Error(`--pairs ${pairs} tells nothing; the least is ${LEAST_PAIRS}.`);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-against-")));
  const theirs = join(folder, "tree");
  const running = new Set<ChildProcess>();
  const leave = (): void => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    execFileSync("git", ["worktree", "prune"], { cwd: OURS, stdio: "ignore" });
  };
  onSignals(running, leave);
  try {
    execFileSync("git", ["worktree", "add", "--quiet", "--detach", theirs, commit], { cwd: OURS, stdio: "inherit" });
    await build(theirs, running);
    const words = ["bench/run.ts", ...names, ...(quick ? ["--quick"] : [])];
    const measured = { ours: [] as Map<string, string>[], theirs: [] as Map<string, string>[] };
    for (let pair = 0; pair < pairs; pair++) {
      const turns = pair % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const);
      for (const tree of turns) {
        process.stderr.write(`pair ${pair + 1} of ${pairs}: ${tree}\n`);
        const { output } = await run(tree === "ours" ? OURS : theirs, words, running);
        measured[tree].push(rowsOf(output));
      }
    }
    console.log(tableOf(measured, commit));
  } finally {
    leave();
  }
}

/** With our packages where they are the same. */
async function build(tree: string, running: Set<ChildProcess>): Promise<void> {
  const lock = (folder: string): string => readFileSync(join(folder, "package-lock.json"), "utf8");
  if (lock(tree) === lock(OURS)) symlinkSync(join(OURS, "node_modules"), join(tree, "node_modules"));
  else execFileSync("npm", ["ci", "--loglevel=error"], { cwd: tree, stdio: ["ignore", "ignore", "inherit"] });
  const { code } = await run(tree, ["scripts/build.mjs"], running);
  if (code !== 0 || !existsSync(join(tree, "dist", "midwatch.js"))) throw new Error("that commit does not build here");
}

async function run(
  cwd: string,
  words: string[],
  running: Set<ChildProcess>,
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "ignore"] });
  running.add(child);
  let output = "";
  child.stdout.on("data", (part) => {
    output += part;
  });
  const [code] = await once(child, "close");
  running.delete(child);
  return { code: code ?? 1, output };
}

function onSignals(running: Set<ChildProcess>, leave: () => void): void {
  let leaving = false;
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.on(signal, async () => {
      if (leaving) return;
      leaving = true;
      const ends = [...running].map((child) => once(child, "exit"));
      for (const child of running) child.kill("SIGTERM");
      await Promise.all(ends);
      leave();
      process.exit(code);
    });
}

function tableOf({ ours, theirs }: Record<"ours" | "theirs", Map<string, string>[]>, commit: string): string {
  const lines = [...(ours[0]?.keys() ?? [])].flatMap((name) => {
    const figures = (rounds: Map<string, string>[]): number[] => rounds.map((round) => figureOf(round.get(name) ?? ""));
    const [mine, other] = [figures(ours), figures(theirs)];
    if (![...mine, ...other].every((value) => value > 0))
      return [`| ${name} | not in both | | ${ours[0]?.get(name)} |`];
    const { ratio, low, high } = compare(mine, other);
    const interval = `${low.toFixed(3)} to ${high.toFixed(3)}`;
    return [
      `| ${name} | ${ratio.toFixed(3)} x | ${interval}${low <= 1 && high >= 1 ? "" : " **differs**"} | ${ours[0]?.get(name)} |`,
    ];
  });
  return [`| row | ours / ${commit} | 95 % interval | ours, first round |`, "|---|---|---|---|", ...lines].join("\n");
}
