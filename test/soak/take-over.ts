/** Everything but the keepers is killed -9 and a quarter of the agents end meanwhile: the next process has all of it right. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import type { ListRecord } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { patient } from "../support/patience.ts";
import { Lab, supportFile, until } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

export function takeOver(count: number, seed = 0): Promise<Report> {
  return campaign("take-over", count, seed, async (fail, figures) => {
    const lab = new Lab();
    try {
      const fifo = join(lab.folder, "fifo");
      execFileSync("/usr/bin/mkfifo", [fifo]);
      const ending = Math.floor(count / 4);
      const starter = lab.node(
        supportFile("worker/fleet-starter.ts"),
        ...[lab.root, String(count - ending), String(ending), fifo],
      );
      const [sent] = await once(starter, "message", { signal: AbortSignal.timeout(patient(60_000)) });
      const { stays, ends } = sent as { stays: RunRecord[]; ends: RunRecord[] };
      starter.kill("SIGKILL");
      await until(() => {
        release(fifo);
        return ends.every((one) => existsSync(join(lab.runDir(one), "done.json")));
      }, 30_000);

      const begun = performance.now();
      const { code, stdout } = await lab.cli("ls", "--json");
      figures["ls in a new process, ms"] = Math.round(performance.now() - begun);
      const opened = performance.now();
      using workspace = lab.open();
      await workspace.runs.list();
      figures["the same in this process, ms"] = Math.round(performance.now() - opened);
      if (code !== 0) fail(`ls: exit ${code}`);
      const seen = new Map(
        stdout
          .trim()
          .split("\n")
          .map((line) => [JSON.parse(line).agent as string, JSON.parse(line) as ListRecord]),
      );
      if (seen.size !== count) fail(`${seen.size} agents of ${count}`);
      for (const one of stays) {
        const found = seen.get(one.agent);
        if (found?.phase !== "running" || found.outcome !== null || found.exit.code !== null)
          fail(`stays: ${JSON.stringify(found)}`);
      }
      for (const [i, one] of ends.entries()) {
        const found = seen.get(one.agent);
        const outcome = i % 5 === 0 ? "completed" : "failed";
        if (found?.phase !== "drained" || found.outcome !== outcome || found.exit.code !== i % 5)
          fail(`ends with ${i % 5}: ${JSON.stringify(found)}`);
      }
      const reports = await workspace.runs.stop(
        stays.map(({ agent }) => agent),
        { graceMs: 0 },
      );
      figures["all stopped, ms"] = Math.max(0, ...reports.map(({ took_ms }) => took_ms));
      for (const report of reports) if (!report.verified) fail(`not stopped: ${JSON.stringify(report)}`);
    } finally {
      await lab.end();
    }
  });
}

/** Lets go whoever waits for a writer; nobody may be waiting just now. */
function release(fifo: string): void {
  try {
    closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // ENXIO: no reader.
  }
}
