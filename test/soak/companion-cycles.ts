/**
 * Runs with limits of money without `up`, over and over, while the companion is killed, stopped, replaced by `up` and called by several at
 * once: each run ends by its limit, and soon after the last one nothing of the companion is left.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { CompanionLab } from "../support/companion.ts";
import { pick, random } from "../support/data/random.ts";
import { lives, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const AT_ONCE = 3;
/** It goes so long after the last run that needs it, on a machine that has time for it. */
const GONE_MS = 5000;

export function companionCycles(count: number, seed: number): Promise<Report> {
  return campaign("the companion comes and goes", count, seed, async (fail, figures) => {
    const next = random(seed);
    const shared = rounds(count);
    const done: Record<string, number> = {};
    let most = 0;
    const runner = async (): Promise<void> => {
      const lab = new CompanionLab();
      try {
        while (!shared.next().done) {
          const goneMs = await cycle(lab, next, fail, done);
          most = Math.max(most, goneMs);
        }
        const seen = (await lab.list()).filter(({ agent }) => agent === lab.record()?.agent).length;
        const all = (await lab.list("--all")).filter(({ role }) => role === "companion").length;
        if (seen !== 0 || all > 1) fail(`${seen} companions in ls, ${all} in ls --all`);
      } finally {
        await lab.end();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, runner));
    Object.assign(figures, done, { "gone after at most ms": most });
  });
}

/** One time of a companion; gives how long it stayed after the last run. */
async function cycle(
  lab: CompanionLab,
  next: () => number,
  fail: (what: string) => void,
  done: Record<string, number>,
): Promise<number> {
  rmSync(join(lab.folder, "go"), { force: true });
  const runs = await Promise.all(Array.from({ length: pick(next, [1, 1, 2]) }, () => lab.loops()));
  for (let i = pick(next, [0, 1, 1, 2]); i > 0; i--) {
    const what = pick(next, Object.keys(TROUBLES)) as keyof typeof TROUBLES;
    done[what] = (done[what] ?? 0) + 1;
    await TROUBLES[what](lab);
  }
  const [first] = runs as [RunRecord];
  if (next() < 0.3) await lab.stop("--grace", "0", first.agent);
  lab.go();
  for (const { agent } of runs) {
    await until(async () => (await lab.show(agent)).outcome !== null, 60_000, "a run ends by its limit");
    const { outcome, cost_usd } = await lab.show(agent);
    if (outcome !== "limit" && !(agent === first.agent && outcome === "stopped"))
      fail(`${agent}: ${outcome}, ${cost_usd} USD`);
  }
  const begun = performance.now();
  await lab.isGone(GONE_MS);
  return Math.round(performance.now() - begun);
}

const TROUBLES = {
  "process killed": async (lab: CompanionLab) => kill((await lab.comes(60_000)).pid),
  "killed with its keeper": async (lab: CompanionLab) => {
    const { pid } = await lab.comes(60_000);
    kill(lab.keeper()?.pid);
    kill(pid);
  },
  "keeper killed": async (lab: CompanionLab) => {
    await lab.comes(60_000);
    kill(lab.keeper()?.pid);
  },
  "group killed": async (lab: CompanionLab) => kill(-(await lab.comes(60_000)).pid),
  stopped: async (lab: CompanionLab) => {
    await lab.comes(60_000);
    await lab.stop(lab.record()?.agent as string);
  },
  "starter killed": async (lab: CompanionLab) => {
    const [one] = lab.starters();
    kill(one?.pid);
  },
  "up came and ended": async (lab: CompanionLab) => {
    const up = lab.spawn("up", "--no-http");
    await until(async () => (await lab.watcher()) === up.pid, 60_000, "up leads");
    up.kill("SIGINT");
    await until(() => up.exitCode !== null || up.signalCode !== null, 60_000, "up ends");
  },
  "up came and was killed": async (lab: CompanionLab) => {
    const up = lab.spawn("up", "--no-http");
    await until(async () => (await lab.watcher()) === up.pid, 60_000, "up leads");
    up.kill("SIGKILL");
  },
  "no trouble": async (lab: CompanionLab) => void lives(await lab.comes(60_000)),
};

function kill(pid: number | undefined): void {
  if (pid === undefined || Math.abs(pid) <= 1) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
