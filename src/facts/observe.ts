/** A run as it is now: its facts read with the process table. */

import { isOver } from "../core/phase.ts";
import type { Phase } from "../core/types.ts";
import type { RunRow } from "../registry/registry.ts";
import type { RunName } from "../workspace/context.ts";
import type { Facts } from "./facts.ts";
import { phaseOf } from "./state.ts";

export interface Observed extends RunName {
  facts: Facts;
  row: RunRow;
  /** It has ended, and cleaning up after it was left to a later call. */
  left: boolean;
}

export function phaseNow(facts: Facts): Phase {
  return phaseOf(facts, facts.keeperLives);
}

export function hasEnded(facts: Facts): boolean {
  return isOver({ phase: phaseNow(facts) });
}
