/** kill -9 of the keeper at any moment from its claim on: nothing that it started escapes a stop, and no byte is lost. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimFact } from "../../src/core/types.ts";
import { output } from "../support/cli/output.ts";
import { checkIndex, indexAt } from "../support/data/index-check.ts";
import { pick, random } from "../support/data/random.ts";
import { Lab, lives, supportFile, text, until } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const BYTES = 40_000_000;

export function lostKeepers(count: number, seed = 1): Promise<Report> {
  return campaign("lost keepers", count, seed, async (fail, figures) => {
    const next = random(seed);
    const phases: Record<string, number> = {};
    for (const round of rounds(count)) {
      const say = (what: string): void => fail(`round ${round} of seed ${seed}: ${what}`);
      const lab = new Lab({ tier: pick(next, ["auto", "subreaper"]) });
      try {
        const phase = await oneRound(lab, next, say);
        phases[phase] = (phases[phase] ?? 0) + 1;
      } catch (error) {
        say(String(error instanceof Error ? error.stack : error));
      } finally {
        await lab.end().catch((error) => say(String(error)));
      }
    }
    Object.assign(figures, phases);
  });
}

async function oneRound(lab: Lab, next: () => number, say: (what: string) => void): Promise<string> {
  const seed = Math.floor(next() * 1e9);
  const side = join(lab.folder, "side");
  const argv = [process.execPath, supportFile("cli/printer.ts"), String(seed), String(BYTES), "0", side, "500"];
  const starting = lab.workspace.runs.start({ argv }).catch(() => undefined); // A keeper that dies gives no answer.
  let claim: ClaimFact | undefined;
  await until(() => {
    const path = globSync("TASK-*/runs/*/1/claim", { cwd: lab.root })[0];
    claim = path === undefined ? undefined : parse(text(join(lab.root, path)));
    return claim;
  });
  // Half of them within the launch, which takes some 10 ms.
  await sleep(next() < 0.5 ? next() * 10 : next() * 1500);
  if (claim && lives(claim)) process.kill(claim.pid, "SIGKILL");
  await until(() => claim && !lives(claim));
  await starting;
  const [found] = await lab.open().runs.list({ all: true });
  if (!found) throw new Error("no row");
  if (found.phase !== "lost") say(`${found.phase} ${found.outcome}`);
  const [report] = await lab.open().runs.stop([found.agent], { graceMs: 100 });
  if (!report?.verified) say(`not verified: ${JSON.stringify(report)}`);
  if (report?.exit.code !== null) say(`an exit that nobody saw: ${JSON.stringify(report?.exit)}`);
  const survivors = lab.survivors();
  if (survivors.length > 0) say(`left: ${JSON.stringify(survivors)}`);
  const log = await lab.raw(found.agent);
  if (!log.equals(output(seed, BYTES).subarray(0, log.length))) say("the log is not what was printed");
  if (log.length < completed(side)) say("completed writes are lost");
  if (log.length > 0)
    for (const problem of checkIndex(log, indexAt(found.log.replace(".jsonl", ".idx")))) say(`index: ${problem}`);
  return found.started_at === null ? "in the launch" : "running";
}

function completed(side: string): number {
  const bytes = Buffer.from(text(side), "latin1");
  return bytes.length === 8 ? Number(bytes.readBigUInt64LE()) : 0;
}

function parse(json: string): ClaimFact | undefined {
  try {
    return JSON.parse(json) as ClaimFact;
  } catch {
    return undefined;
  }
}
