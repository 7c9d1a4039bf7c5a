/** Signals to the keeper of a run: to the one that its facts name and that is verified to live, or to nobody. */
import type { ClaimFact } from "../core/types.ts";
import { signalKeeper } from "../process/identity.ts";
import { type Facts, livingAdopter, livingKeeper } from "./facts.ts";

export function tell(keeper: ClaimFact, signal: NodeJS.Signals): boolean {
  return signalKeeper(keeper, keeper.nonce, signal);
}

/** There is something new in its folder. Best effort: a keeper that is not told looks within two seconds by itself. */
export function wakeKeeper(facts: Facts): void {
  const keeper = livingKeeper(facts) ?? livingAdopter(facts);
  if (keeper) tell(keeper, "SIGCONT");
}
