/** The phase of a run now: its facts read with the process table. */
import { ENDED_PHASES, type Phase } from "../core/types.ts";
import type { Facts } from "./facts.ts";
import { phaseOf } from "./state.ts";

export function phaseNow(facts: Facts): Phase {
  return phaseOf(facts, facts.keeperLives);
}

export function hasEnded(facts: Facts): boolean {
  return ENDED_PHASES.includes(phaseNow(facts));
}
