/**
 * Silent agents cost next to nothing: the CPU time of 100 keepers whose agents print nothing, once they have been silent for long, and
 * of the `midwatch up` that looks after them, beside 100 `tail -F` that look at the same files once a second (its other way, inotify, would use up most of the 128
 * instances that a user has).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openWorkspace } from "../src/index.ts";
import { digits, times } from "./support/figures.ts";
import { cpuNs, kill } from "./support/process.ts";
import { atMost, type Options, type Row, row } from "./support/row.ts";

const BUNDLE = fileURLToPath(new URL("../dist/midwatch.js", import.meta.url));

/** A keeper takes its agent for silent after 30 s. */
const SETTLE_MS = 35_000;

export async function bench(options: Options): Promise<Row[]> {
  const count = options.quick ? 20 : 100;
  const seconds = options.quick ? 10 : 30;
  const workspace = openWorkspace({ workspace: join(options.dir, "workspace"), make: true });
  const tails: number[] = [];
  let up: ChildProcess | undefined;
  try {
    options.say(`${count} agents that print nothing, ${SETTLE_MS / 1000} s to settle`);
    const runs = [];
    for (let i = 0; i < count; i++) runs.push(await workspace.runs.start({ argv: ["sleep", "600"] }));
    for (const { log } of runs) {
      const files = [log, log.replace("_stream.jsonl", "_stderr.log")];
      const tail = spawn("tail", ["-q", "-n", "0", "---disable-inotify", "-F", ...files], { stdio: "ignore" });
      tails.push(tail.pid as number);
    }
    const keepers = runs.map(({ task, agent, run }) => {
      const claim = readFileSync(join(workspace.root, task, "runs", agent, String(run), "claim"), "utf8");
      return (JSON.parse(claim) as { pid: number }).pid;
    });
    up = spawn(process.execPath, [BUNDLE, "up", "--no-http", "--workspace", workspace.root], { stdio: "ignore" });
    await sleep(SETTLE_MS);
    const watcher = [up.pid as number];
    options.say(`${seconds} s of silence`);
    const before = [cpuNs(keepers), cpuNs(tails), cpuNs(watcher)] as const;
    await sleep(seconds * 1000);
    const share = (used: number): number => (used / 1e9 / seconds / count) * 100 * 100; // % of a core for 100
    const ours = share(cpuNs(keepers) - before[0]);
    const theirs = share(cpuNs(tails) - before[1]);
    const house = share(cpuNs(watcher) - before[2]);
    const idle = (figure: string, used: number): Row =>
      row({
        promise: "idle",
        figure,
        measured: `${digits(used)} % of a core`,
        peer: `\`tail -F\` of the same files, without inotify: ${digits(theirs)} %`,
        ratio: times(used / theirs),
        ...atMost(used, 1, " %"),
        note: `${count} of each for ${seconds} s, all threads, after ${SETTLE_MS / 1000} s of silence`,
      });
    return [idle("keepers of 100 silent agents", ours), idle("`midwatch up` beside 100 silent agents", house)];
  } finally {
    for (const pid of [...tails, ...(up?.pid === undefined ? [] : [up.pid])]) kill(pid, "SIGKILL");
    const left = (await workspace.runs.list()).map(({ agent }) => agent);
    await workspace.runs.stop(left, { graceMs: 0 });
    workspace.close();
  }
}
