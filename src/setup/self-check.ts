/** One agent of one second, through all that a run goes through: start, log, stop, receipt. Whoever reads it knows what this machine can do. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { toMidwatchError } from "../core/errors.ts";
import type { Report } from "../core/types.ts";
import { withScratch } from "../disk/scratch.ts";
import { openWorkspace, type RunRecord, type Workspace } from "../fleet/workspace.ts";
import { type Check, TIERS } from "./doctor.ts";

/** Prints, works a second, prints, and would go on. */
const AGENT = ["sh", "-c", "echo begun; sleep 1; echo done; exec sleep 600"];
const LOG = "begun\ndone\n";
const LOG_MS = 30_000;

export async function selfCheck(env: Readonly<Record<string, string | undefined>>): Promise<Check[]> {
  return await withScratch({}, async (cwd) => {
    const workspace = openWorkspace({ workspace: join(cwd, ".agent-workspace"), make: true, cwd, env });
    const checks: Check[] = [];
    try {
      await throughAll(workspace, cwd, checks);
    } catch (error) {
      const { message, hint } = toMidwatchError(error);
      const check = ["start", "log", "stop", "receipt"][checks.length] ?? "tier";
      checks.push({ check: `self-check: ${check}`, state: "failed", message: hint ? `${message} ${hint}` : message });
    } finally {
      workspace.close();
    }
    return checks;
  });
}

async function throughAll(workspace: Workspace, cwd: string, checks: Check[]): Promise<void> {
  const add = (check: string, good: boolean, message: string): void =>
    void checks.push({ check: `self-check: ${check}`, state: good ? "ok" : "failed", message });
  const begun = performance.now();
  const run = await workspace.runs.start({ argv: AGENT, name: "self-check", cwd });
  add("start", true, `${run.agent} in ${(performance.now() - begun).toFixed(0)} ms`);
  let report: Report | undefined;
  try {
    const log = await printed(workspace, run);
    add(
      "log",
      log === LOG,
      log === LOG ? `${log.length} bytes, as they were printed` : `not what was printed: ${JSON.stringify(log)}`,
    );
  } finally {
    [report] = await workspace.runs.stop([run.agent], { graceMs: 1000, reason: "self-check" });
  }
  if (report === undefined) throw new Error("nobody told of the stop");
  const { verified, left, processes_total: ended, took_ms: took, files } = report;
  add(
    "stop",
    verified && left.length === 0,
    `${ended} ${ended === 1 ? "process" : "processes"} ended, ${left.length} left, in ${took.toFixed(0)} ms`,
  );
  const kept = files.filter(({ action }) => action !== "failed").length;
  add("receipt", kept === files.length, `${report.outcome}; ${kept} of ${files.length} files in order`);
  if (report.guarantee !== null) {
    const [state, message] = TIERS[report.guarantee];
    checks.push({ check: "self-check: tier", state, message });
  }
}

async function printed(workspace: Workspace, { agent }: RunRecord): Promise<string> {
  for (let text = "", until = performance.now() + LOG_MS; ; await sleep(20)) {
    text = "";
    for await (const bytes of workspace.logs.bytes(agent)) text += Buffer.from(bytes).toString();
    if (text.length >= LOG.length || performance.now() > until) return text;
  }
}
