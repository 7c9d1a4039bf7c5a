/** Agents started and ended, or started and stopped, over and over by one process: afterwards everything is as it was before. */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import { pick, random } from "../support/data/random.ts";
import { patient } from "../support/patience.ts";
import { Lab, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const AT_ONCE = 3;
/** After so many everything that is opened once and kept has been opened. */
const WARM_UP = 10;
/** A child that left its parent's session, and a file in the run's own folder for temporary files. */
const SCRIPT = 'echo begun; echo x >"$TMPDIR/file"; setsid sleep 300 & echo done';

export function cycles(count: number, seed: number): Promise<Report> {
  return campaign("start and end, start and stop", count, seed, async (fail, figures) => {
    const lab = new Lab();
    const TMPDIR = join(lab.folder, "tmp");
    mkdirSync(TMPDIR);
    const workspace = lab.open({ env: { ...process.env, TMPDIR } });
    const next = random(seed);
    const run = (times: number): Promise<void> => repeat(times, () => cycle(lab, workspace, next, fail));
    try {
      await run(WARM_UP);
      const before = await settled(lab, TMPDIR);
      await run(count);
      const after = await settled(lab, TMPDIR);
      for (const [what, value] of Object.entries(after)) {
        figures[what] = value;
        if (value > (before[what] ?? 0)) fail(`${what}: ${before[what]} before, ${value} after`);
      }
    } finally {
      await lab.end();
    }
  });
}

async function repeat(times: number, act: () => Promise<void>): Promise<void> {
  const shared = rounds(times);
  const runner = async (): Promise<void> => {
    while (!shared.next().done) await act();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
}

async function cycle(lab: Lab, workspace: Workspace, next: () => number, fail: (what: string) => void): Promise<void> {
  const stops = next() < 0.5;
  const record = await workspace.runs.start({ argv: ["sh", "-c", stops ? `${SCRIPT}; wait` : `${SCRIPT}; exit 3`] });
  if (stops) {
    const [report] = await workspace.runs.stop([record.agent], { graceMs: pick(next, [0, 0, 20]) });
    if (!report?.verified) fail(`${record.agent}: ${JSON.stringify(report)}`);
  } else {
    const [shown] = await workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
    if (shown?.phase !== "drained" || shown.exit.code !== 3) fail(`${record.agent}: ${JSON.stringify(shown)}`);
  }
  const { cgroup, tmpdir: folder } = lab.startFact(record);
  for (const path of [cgroup, folder, activeMark(lab, record)])
    if (path !== null && existsSync(path)) fail(`${record.agent}: ${path} is left`);
}

const activeMark = (lab: Lab, { agent, run }: RunRecord): string => join(lab.root, "active", `${agent}.${run}`);

/** What there is when nothing is under way: keepers outlive their last fact by moments, and so do pipes. */
async function settled(lab: Lab, temporary: string): Promise<Record<string, number>> {
  await until(() => lab.survivors(true).length === 0, 10_000).catch(() => undefined);
  const look = (): Record<string, number> => ({
    processes: lab.survivors(true).length,
    descriptors: readdirSync("/proc/self/fd").length,
    "active marks": readdirSync(join(lab.root, "active")).length,
    "temporary files": readdirSync(temporary).length,
    "timers and handles": process.getActiveResourcesInfo().length,
  });
  let least = look();
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = look();
    least = Object.fromEntries(
      Object.entries(now).map(([what, value]) => [what, Math.min(value, least[what] ?? value)]),
    );
  }
  return least;
}
