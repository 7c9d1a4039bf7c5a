// `pid-reuse.ts COUNT SEED`, in a pid namespace of its own: the pids of a run's dead processes are given to bystanders, and then
// everything that signals is asked to end the run. Prints how many bystanders were given the pids, and each fault.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../../../src/core/types.ts";
import type { RunRecord } from "../../../src/fleet/workspace.ts";
import { readProcess } from "../../../src/process/identity.ts";
import { pick, random } from "../data/random.ts";
import { Lab, lives, until } from "../workspace.ts";
import { adopterOf, keeperOf } from "./keeper-kill.ts";

const [count = "1", seed = "1"] = process.argv.slice(2);
const TRIES = 200;
const next = random(Number(seed));
const faults: string[] = [];
const seen: Record<string, number> = {};

/** A process with this very pid that waits for ever. Called with a run's name and nonce it has the keeper's argument list, word for word. */
async function take(pid: number, folder: string, words: readonly string[]): Promise<ChildProcess> {
  for (let i = 0; i < TRIES; i++) {
    writeFileSync("/proc/sys/kernel/ns_last_pid", String(pid - 1));
    const child: ChildProcess = spawn("sh", ["run", ...words], {
      cwd: folder,
      argv0: "midwatch-keeper",
      stdio: ["pipe", "ignore", "ignore"],
    });
    await once(child, "spawn");
    if (child.pid === pid) return child;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  throw new Error(`pid ${pid} was not to be had`);
}

async function killed(lab: Lab, record: RunRecord, way: "all" | "main" | "stopped"): Promise<ProcessIdentity[]> {
  const keeper = keeperOf(lab, record);
  const main = lab.startFact(record).main as ProcessIdentity;
  if (way === "stopped") await lab.workspace.runs.stop([record.agent], { graceMs: 0 });
  else for (const one of way === "all" ? [keeper, main] : [main]) process.kill(one.pid, "SIGKILL");
  await until(() => [keeper, main].every((one) => !lives(one) && !readProcess(one.pid)));
  return [keeper, main];
}

async function trial(lab: Lab): Promise<void> {
  const record = await lab.workspace.runs.start({ argv: ["sleep", "300"] });
  const way = pick(next, ["all", "main", "stopped"] as const);
  const dead = await killed(lab, record, way);
  const strangers: ChildProcess[] = [];
  try {
    const words = next() < 0.5 ? [`${record.agent}.1`, lab.intent(record).nonce] : [];
    for (const { pid } of dead) strangers.push(await take(pid, lab.folder, words));
    const act = pick(next, ["stop", "purge", "reap", "list"] as const);
    if (act === "stop" || act === "purge") {
      const [report] = await lab.workspace.runs.stop([record.agent], { graceMs: 100, purge: act === "purge" });
      if (!report?.verified) faults.push(`${way}, ${act}: ${JSON.stringify(report)}`);
    } else if (act === "reap") await lab.workspace.runs.reap({ lost: true, graceMs: 100 });
    else await lab.workspace.runs.list();
    const hit = strangers.filter((one) => one.exitCode !== null || one.signalCode !== null || isStopped(one));
    if (hit.length > 0)
      faults.push(
        `${way}, ${act}: signalled ${hit.map(({ pid, exitCode, signalCode }) => `${pid}: ${exitCode ?? signalCode ?? "stopped"}`)}`,
      );
    seen[`${way}, ${act}`] = (seen[`${way}, ${act}`] ?? 0) + 1;
    await until(() => adopterOf(lab, record) === undefined);
  } finally {
    for (const one of strangers) one.kill("SIGKILL");
  }
}

function isStopped({ pid = 0 }: ChildProcess): boolean {
  return readProcess(pid)?.state === "T";
}

const lab = new Lab({ tier: "subreaper" });
writeFileSync(join(lab.folder, "run"), "read x\n");
try {
  for (let i = 0; i < Number(count); i++) await trial(lab);
} catch (error) {
  faults.push(String(error instanceof Error ? error.stack : error));
}
await lab.end().catch((error) => faults.push(String(error)));
console.log(JSON.stringify({ faults, seen }));
process.exit(0);
