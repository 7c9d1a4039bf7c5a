/** Pids of a dead run are reused by strangers, by force: no stop, purge, reap or list ever signals one of them. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { patient } from "../support/patience.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

/** `sh` is the first process there and reaps; node would not. */
const INSIDE = ["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh"];

/** Why it cannot be tried here; undefined when it can. */
export function pidReuseNeeds(): string | undefined {
  const check = "echo 100 > /proc/sys/kernel/ns_last_pid";
  const tried = spawnSync("unshare", [...INSIDE, "sh", "-c", check], { timeout: patient(10_000) });
  return tried.status === 0 ? undefined : "a pid namespace needs root and unshare(1)";
}

export function pidReuse(count: number, seed = 1): Promise<Report> {
  return campaign("forced pid reuse", count, seed, async (fail, figures) => {
    const missing = pidReuseNeeds();
    if (missing !== undefined) {
      figures["skipped"] = missing;
      return;
    }
    const worker = [process.execPath, supportFile("fault/pid-reuse.ts"), String(count), String(seed)];
    const child = spawn("unshare", [...INSIDE, ...worker], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
    });
    await once(child, "close");
    const last = text.trim().split("\n").at(-1) ?? "";
    if (!last.startsWith("{")) return fail(`gave no report: ${text.slice(-500)}`);
    const { faults, seen } = JSON.parse(last) as { faults: string[]; seen: Record<string, number> };
    for (const fault of faults) fail(fault);
    const done = Object.values(seen).reduce((sum, n) => sum + n, 0);
    if (done !== count) fail(`${done} trials of ${count}`);
    Object.assign(figures, seen);
  });
}
