/** A stop by one process while another is launching the same agent: it never ran, or it ran and was ended; never both. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../../src/core/errors.ts";
import type { Report as StopReport } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { random } from "../support/data/random.ts";
import { patient } from "../support/patience.ts";
import { Lab, supportFile } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

export function stopRaces(count: number, seed = 1): Promise<Report> {
  return campaign("stop races launch", count, seed, async (fail, figures) => {
    const next = random(seed);
    const lab = new Lab();
    const outcomes: Record<string, number> = {};
    try {
      const launcher = lab.node(supportFile("worker/launch-server.ts"), lab.root);
      await once(launcher, "message");
      for (const round of rounds(count)) {
        const say = (what: string): void => fail(`round ${round} of seed ${seed}: ${what}`);
        const file = join(lab.folder, `ran-${round}`);
        const name = `r${round}`;
        const answered = once(launcher, "message");
        launcher.send({ name, argv: ["sh", "-c", `echo >"${file}"; exec sleep 300`] });
        const report = await stopSoon(lab, `${name}-`, next() < 0.5 ? 0 : next() * 25);
        const [record] = (await answered) as [RunRecord & { error?: unknown }];
        if (!report.verified || report.outcome !== "stopped" || report.left.length > 0) say(JSON.stringify(report));
        const survivors = lab.survivors();
        if (survivors.length > 0) say(`left: ${JSON.stringify(survivors)}`);
        const { phase, outcome } = await lab.workspace.runs.show(report.agent);
        if (outcome !== "stopped") say(`${phase} ${outcome}`);
        if (phase === "launch_failed" && existsSync(file)) say("ran although it was given up");
        if (phase !== "launch_failed" && phase !== "drained") say(phase);
        if (phase === "launch_failed" && record.phase !== "launch_failed") say(`told ${JSON.stringify(record)}`);
        outcomes[phase] = (outcomes[phase] ?? 0) + 1;
      }
      const agents = await lab.workspace.runs.list({ all: true });
      if (agents.length !== count) fail(`${agents.length} rows for ${count} agents`);
      Object.assign(figures, outcomes);
    } finally {
      await lab.end();
    }
  });
}

/** Stops it as soon as its row can be seen, or some ms later. */
async function stopSoon(lab: Lab, prefix: string, delayMs: number): Promise<StopReport> {
  for (const deadline = performance.now() + patient(15_000); ; ) {
    try {
      if (delayMs > 0) {
        await lab.workspace.runs.show(prefix);
        await sleep(delayMs);
      }
      return (await lab.workspace.runs.stop([prefix], { graceMs: 50 }))[0] as StopReport;
    } catch (error) {
      const unseen = error instanceof MidwatchError && error.code === "NOT_FOUND_AGENT";
      if (!unseen || performance.now() > deadline) throw error;
      await sleep(1);
    }
  }
}
