/**
 * The suite itself, beside two busy loops: all of it in fresh clones (`npm run soak suite [ROUNDS]`), or some files of this tree 30 times each
 * (`npm run soak files -- FILE...`). Rounds of a commit that are done are kept in node_modules/.cache, and so is all that a red one printed:
 * broken off, it goes on with the round that was not finished.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { campaign, type Report } from "./report.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KEPT = join(ROOT, "node_modules", ".cache", "midwatch", "soak");
const BUSY_LOOPS = 2;
const TIMES_EACH = 30;
const CLOSING = /^\d+ passed, \d+ failed, \d+ skipped$/gm;

interface Round {
  closing: string;
  green: boolean;
  seconds: number;
}

export function suite(count: number, seed: number): Promise<Report> {
  return campaign("the whole suite beside two busy loops", count, seed, async (fail, figures) => {
    const kept = keptRounds();
    for (let n = kept.rounds.length; n < count; n++) {
      const round = await busily(() => inClone(join(ROOT, logOf(kept.commit, n + 1))));
      kept.keep([...kept.rounds, round]);
      console.error(`round ${n + 1} of ${count}: ${round.closing} in ${round.seconds} s`);
    }
    for (const [i, { closing, green, seconds }] of kept.rounds.slice(0, count).entries()) {
      figures[`round ${i + 1}`] = `${closing} in ${seconds} s`;
      if (!green) fail(`round ${i + 1}: ${closing}; all of it is in ${logOf(kept.commit, i + 1)}`);
    }
  });
}

export function files(paths: readonly string[]): Promise<Report> {
  const names = paths.map((path) => relative(ROOT, path));
  return campaign("test files beside two busy loops", TIMES_EACH * names.length, 0, async (fail, figures) => {
    await busily(async () => {
      for (const name of names) {
        let red = 0;
        for (let n = 1; n <= TIMES_EACH; n++) {
          const log = join(KEPT, `${name.replaceAll("/", "_")}-${n}.log`);
          const words = ["node_modules/vitest/vitest.mjs", "run", name];
          const { code, seconds } = await run(process.execPath, words, ROOT, log);
          console.error(`${name}, ${n} of ${TIMES_EACH}: ${code === 0 ? "green" : "RED"} in ${seconds} s`);
          if (code === 0) {
            rmSync(log);
            continue;
          }
          red++;
          fail(`${name}: all of it is in ${relative(ROOT, log)}`);
        }
        figures[name] = `${red} red of ${TIMES_EACH}`;
      }
    });
  });
}

const logOf = (commit: string, round: number): string => relative(ROOT, join(KEPT, `suite-${commit}-${round}.log`));

function keptRounds(): { commit: string; rounds: Round[]; keep(rounds: Round[]): void } {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
  const path = join(KEPT, `suite-${commit}.json`);
  mkdirSync(KEPT, { recursive: true });
  return {
    commit,
    rounds: existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : [],
    keep(rounds) {
      this.rounds = rounds;
      writeFileSync(path, JSON.stringify(rounds));
    },
  };
}

async function inClone(log: string): Promise<Round> {
  const folder = mkdtempSync(join(tmpdir(), "midwatch-suite-"));
  try {
    execFileSync("git", ["clone", "--quiet", ROOT, join(folder, "midwatch")]);
    const { code, seconds } = await run("npm", ["test"], join(folder, "midwatch"), log);
    const closing = readFileSync(log, "utf8").match(CLOSING)?.at(-1) ?? "no closing line";
    if (code === 0) rmSync(log);
    return { closing, green: code === 0, seconds };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

async function run(
  command: string,
  words: string[],
  cwd: string,
  log: string,
): Promise<{ code: number; seconds: number }> {
  const begun = performance.now();
  mkdirSync(KEPT, { recursive: true });
  const file = openSync(log, "w");
  try {
    const child = spawn(command, words, { cwd, stdio: ["ignore", file, file] });
    const [code] = await once(child, "exit");
    return { code: code ?? 1, seconds: Math.round((performance.now() - begun) / 1000) };
  } finally {
    closeSync(file);
  }
}

async function busily<T>(act: () => Promise<T>): Promise<T> {
  const loops: ChildProcess[] = Array.from({ length: BUSY_LOOPS }, () =>
    spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }),
  );
  try {
    return await act();
  } finally {
    for (const loop of loops) loop.kill("SIGKILL");
  }
}
