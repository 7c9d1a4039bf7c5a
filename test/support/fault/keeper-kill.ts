/** Ending keepers for tests: always the identified one, never a bare pid. */
import type { ClaimFact, ProcessIdentity } from "../../../src/core/types.ts";
import { readProcess } from "../../../src/process/identity.ts";
import { type Lab, lives, until } from "../workspace.ts";

type Name = Parameters<Lab["fact"]>[0];

export function keeperOf(lab: Lab, run: Name): ProcessIdentity {
  const claim = lab.fact<ClaimFact>(run, "claim");
  if (claim?.by !== "keeper") throw new Error(`no keeper claimed ${run.agent}.${run.run}`);
  return claim;
}

export function adopterOf(lab: Lab, run: Name): ProcessIdentity | undefined {
  const adopter = lab.fact<ClaimFact>(run, "adopt.json");
  return adopter && lives(adopter) ? adopter : undefined;
}

export function signal(process_: ProcessIdentity, name: NodeJS.Signals): void {
  if (!lives(process_)) throw new Error(`${process_.pid} is gone`);
  process.kill(process_.pid, name);
}

export async function kill9(victim: ProcessIdentity): Promise<void> {
  signal(victim, "SIGKILL");
  await until(() => !lives(victim), 5000, `${victim.pid} is gone`);
}

/** While it stands still: a keeper makes its folder again when it misses it. */
export async function whileHeld(keeper: ProcessIdentity, act: () => void): Promise<void> {
  signal(keeper, "SIGSTOP");
  try {
    await until(() => readProcess(keeper.pid)?.state === "T", 5000, `${keeper.pid} stands still`);
    act();
  } finally {
    signal(keeper, "SIGCONT");
  }
}

export function identify(pid: number): ProcessIdentity {
  const found = readProcess(pid);
  if (found === undefined) throw new Error(`there is no process ${pid}`);
  return { pid, start_ticks: found.start_ticks };
}
