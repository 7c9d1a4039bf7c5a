/** What the phase of a run answers, and its state in one word that orchestrators know. The registry's SQL, the page and every door ask here. */
import type { Outcome, Phase, StatusWord } from "./types.ts";

interface Phased {
  phase: Phase | "unreachable";
}

/** Phases after which nothing of the run can be alive. `lost` is not among them: its processes may live on. */
export const ENDED_PHASES: readonly Phased["phase"][] = ["drained", "archived", "launch_failed"];
const AT_WORK: readonly Phased["phase"][] = ["running", "stopping", "stuck", "lost"];

/** Nothing of it can be alive, and nothing more comes from it. */
export function isOver({ phase }: Phased): boolean {
  return ENDED_PHASES.includes(phase);
}

/** Over, or nothing more happens to it by itself: who waits for it waits in vain. */
export function isSettled({ phase }: Phased): boolean {
  return isOver({ phase }) || phase === "lost" || phase === "stuck";
}

/** Its processes have begun and may work. */
export function isAtWork({ phase }: Phased): boolean {
  return AT_WORK.includes(phase);
}

/** After one of these reports an agent is expected to end. */
export const TERMINAL: readonly Terminal[] = ["completed", "failed", "error", "terminated"];
type Terminal = "completed" | "failed" | "error" | "terminated";

export function isTerminal(word: string | null | undefined): word is Terminal {
  return TERMINAL.some((one) => one === word);
}

/** The status of an agent's newest report. */
export interface Said {
  status: string;
  timestamp: string;
}

/** Of this run; what it reported in an earlier one says nothing about it. */
export function saidIn(run: { created_at: string }, said: Said | undefined): string | null {
  return said !== undefined && said.timestamp >= run.created_at ? said.status : null;
}

interface Ended extends Phased {
  outcome: Outcome | null;
}

/**
 * `said` is the last word of the agent's own reports in this run. What lives runs, whatever it said. Of what is over the kernel's word
 * counts, and the agent's own where that does not contradict it: one that was ended after it had said `completed` is completed, one that
 * says `failed` and exits with 0 has failed.
 */
export function statusWord({ phase, outcome }: Ended, said: string | null): StatusWord {
  if (phase === "intended" || phase === "launching") return "queued";
  if (phase === "lost" || phase === "stuck") return "error";
  if (!ENDED_PHASES.includes(phase)) return said === "blocked" ? "blocked" : "running";
  switch (outcome) {
    case "completed":
      return isTerminal(said) ? said : "completed";
    case "stopped":
      return isTerminal(said) ? said : "terminated";
    case "failed":
      return "failed";
    case "limit":
      return "terminated";
    case "lost":
    case null:
      return "error";
  }
}
