/** Signals to the keeper of a run: to the one that its facts name and that is verified to live, or to nobody. */
import type { ClaimFact } from "../core/types.ts";
import { signalKeeper } from "../process/identity.ts";
import { type Facts, hostOf, livingAdopter, livingKeeper } from "./facts.ts";

export function tell(facts: Facts, keeper: ClaimFact, signal: NodeJS.Signals): boolean {
  const where = hostOf(facts);
  return where !== undefined && signalKeeper(keeper, keeper.nonce, where, signal);
}

/** There is something new in its folder. Best effort: a keeper that is not told looks within two seconds by itself. */
export function wakeKeeper(facts: Facts): void {
  const keeper = livingKeeper(facts) ?? livingAdopter(facts);
  if (keeper) tell(facts, keeper, "SIGCONT");
}
