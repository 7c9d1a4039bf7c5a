/**
 * After kill -9 of everything but the keepers a new process knows the truth about 100 agents within a second: 75 that sleep
 * on and 25 that ended when nobody was looking. Each round has new launchers, runs and workspace.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "../src/index.ts";
import { both, digits, median } from "./support/figures.ts";
import { ended, finish, ours, startReady, until } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const LIBRARY = fileURLToPath(new URL("../dist/index.js", import.meta.url));
const LAUNCH = fileURLToPath(new URL("./load/launch.ts", import.meta.url));
const LIST = fileURLToPath(new URL("./load/list.ts", import.meta.url));
const LAUNCHERS = 5;

interface Seen {
  tries: number;
  /** ms until the first answer, and until a right one, from before the workspace is opened. */
  first: number;
  inside: number;
  right: number;
  /** ms of the whole process. */
  whole: number;
}

export async function bench(options: Options): Promise<Row[]> {
  const count = options.quick ? 20 : 100;
  const rounds = options.quick ? 3 : 5;
  const seen: Seen[] = [];
  for (let i = 0; i < rounds; i++) {
    options.say(`round ${i + 1}: ${count} runs`);
    seen.push(await takeOver(options, join(options.dir, String(i)), count));
  }
  const right = Math.min(...seen.map((one) => one.right));
  const whole = seen.map((one) => one.whole);
  return [
    row({
      promise: "take-over",
      figure: `${count} agents right (${(count * 3) / 4} live, ${count / 4} ended meanwhile) after kill -9 of their launchers`,
      measured: `${right} right; inside the process ${both(
        seen.map((one) => one.inside),
        " ms",
      )}; whole process ${both(whole, " ms")}`,
      ...atMost(median(whole), 1000, " ms"),
      ...(right === count ? {} : { holds: false }),
      note: `${rounds} rounds; right at look ${Math.max(...seen.map((one) => one.tries))} at the latest, first look ${digits(median(seen.map((one) => one.first)))} ms`,
    }),
  ];
}

async function takeOver(options: Options, dir: string, count: number): Promise<Seen> {
  mkdirSync(dir);
  const go = join(dir, "go");
  const root = join(dir, "workspace");
  const workspace = openWorkspace({ workspace: root, make: true });
  try {
    const each = count / LAUNCHERS;
    const enders = count / 4 / LAUNCHERS;
    const args = [root, each - enders, enders, options.load("end"), options.load("print"), go].map(String);
    const starting = Array.from({ length: LAUNCHERS }, () => startReady(process.execPath, [LAUNCH, ...args]));
    const launchers = await Promise.all(starting);
    for (const launcher of launchers) await finish(launcher); // kill -9
    const expected = join(dir, "expected");
    writeFileSync(expected, launchers.map(({ text }) => text.replace("ready\n", "")).join(""));
    writeFileSync(go, "");
    await until("the enders' keepers are done", () => keepers(options).length === (count * 3) / 4, 30_000);
    return await look(root, expected);
  } finally {
    writeFileSync(go, "");
    const left = (await workspace.runs.list()).map(({ agent }) => agent);
    await workspace.runs.stop(left, { graceMs: 0 });
    workspace.close();
  }
}

function keepers(options: Options): number[] {
  const bin = join(options.load("end"), "..");
  return ours(bin).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/exe`).endsWith("/midwatch-keeper");
    } catch {
      return false;
    }
  });
}

async function look(root: string, expected: string): Promise<Seen> {
  const begun = performance.now();
  const child = spawn(process.execPath, [LIST, LIBRARY, root, expected], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  if ((await ended(child)) !== 0) throw new Error("the lister failed");
  return { ...(JSON.parse(text) as Omit<Seen, "whole">), whole: performance.now() - begun };
}
