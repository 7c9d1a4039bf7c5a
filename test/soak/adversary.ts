/**
 * An agent that lies, floods, forks, hides and kills its keeper (test/fixtures/adversary). After each stop everything that it started is gone, or
 * the receipt says that it is not proven and what is left. What is true is counted here, by a mark in command lines.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Report as Receipt } from "../../src/core/types.ts";
import type { RunRecord } from "../../src/fleet/workspace.ts";
import { pick, random } from "../support/data/random.ts";
import { Lab, lives, supportFile, text, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const SCRIPT = supportFile("../fixtures/adversary/adversary.sh");
const TIERS = ["auto", "subreaper"] as const;
const LIES = ["forge", "unclaim", "flood", "folder"];
const HIDES = ["multiply", "session", "wipe", "orphan", "ignore", "leave", "borrow", "pretend"];

/** `count` trials on each tier. */
export function adversary(count: number, seed = 1): Promise<Report> {
  return campaign("an adversarial agent", TIERS.length * count, seed, async (fail, figures) => {
    for (const tier of TIERS) {
      const next = random(seed + TIERS.indexOf(tier));
      const tally = { proven: 0, "told as left": 0, "in doubt, and gone": 0 };
      const lab = new Lab({ tier });
      try {
        const other = await lab.run("sleep", "1000");
        for (const round of rounds(count)) {
          const some = (of: readonly string[]): string[] => of.filter(() => next() < 0.4);
          const tricks = [
            ...some(HIDES),
            pick(next, HIDES),
            ...some(LIES),
            ...(next() < 0.5 ? ["murder", ...some(LIES)] : []),
          ];
          const mark = `${process.pid}${seed}${round}${TIERS.indexOf(tier)}`;
          const what = await trial(lab, mark, tricks, next() < 0.5, tally);
          if (what !== undefined) fail(`${tier}, round ${round} of seed ${seed}, ${tricks.join(" ")}: ${what}`);
          if (!lives(lab.startFact(other).keeper)) fail(`round ${round}: another agent's keeper was ended`);
        }
      } finally {
        await lab.end();
      }
      for (const [what, times] of Object.entries(tally)) figures[`${tier}: ${what}`] = times;
    }
  });
}

/** Undefined when all that was said is true. */
async function trial(
  lab: Lab,
  mark: string,
  tricks: readonly string[],
  looks: boolean,
  tally: Record<"proven" | "told as left" | "in doubt, and gone", number>,
): Promise<string | undefined> {
  const { runs } = lab.workspace;
  const name = `trial${tally.proven + tally["told as left"] + tally["in doubt, and gone"]}`; // Its keeper has it in its command line.
  // The keeper may be killed before it can answer: then the launch failed, and the agent is found by its name.
  const record = await runs.start({ argv: ["sh", SCRIPT, mark, ...tricks], name }).catch(() => runs.show(`${name}-`));
  try {
    await until(() => isReady(record), 15_000, `${tricks} is ready`);
    if (looks) {
      const listed = (await runs.list({ all: true })).find(({ agent }) => agent === record.agent);
      if (listed && ["drained", "archived", "launch_failed"].includes(listed.phase))
        return `it lives, and is listed as ${listed.phase}`;
    }
    const [receipt] = (await runs.stop([record.agent], { graceMs: 0 })) as [Receipt];
    const left = marked(mark);
    if (left.length > 0 && (receipt.verified || receipt.left.length === 0))
      return `false proof: ${left} live, ${JSON.stringify(receipt)}`;
    tally[receipt.verified ? "proven" : left.length > 0 ? "told as left" : "in doubt, and gone"]++;
    for (const pid of left) process.kill(Number(pid), "SIGKILL");
    await until(() => marked(mark).length === 0);
    const [again] = (await runs.stop([record.agent], { graceMs: 0 })) as [Receipt];
    return again.verified ? undefined : `it is gone, and a stop does not say so: ${JSON.stringify(again)}`;
  } finally {
    for (const pid of marked(mark)) process.kill(Number(pid), "SIGKILL");
  }
}

function isReady({ log }: Pick<RunRecord, "log">): boolean {
  try {
    return readFileSync(log).subarray(-6).toString() === "ready\n";
  } catch {
    return false;
  }
}

function marked(mark: string): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && text(`/proc/${pid}/cmdline`).includes(mark));
}
