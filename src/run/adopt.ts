/** A run whose keeper was killed gets another: it takes up index, sync and guards, and can stop the run with proof. */

import { type Facts, isElsewhere, livingAdopter } from "../facts/facts.ts";
import { startKeeper } from "../process/keeper.ts";
import type { Context } from "../workspace/context.ts";
import { commonOrders } from "./launch.ts";

export async function adopt(context: Context, facts: Facts): Promise<void> {
  const { intent, claim } = facts;
  // Only a keeper that is known and gone left something to take up; a claim that cannot be read is just being written.
  if (!intent || claim?.by !== "keeper" || facts.keeperLives || facts.done || livingAdopter(facts)) return;
  if (isElsewhere(facts)) return; // Nothing can be concluded from here.
  // An answer with an error means that another process was faster, or the log is gone; the facts will tell.
  await startKeeper("adopt", `${intent.agent}.${intent.run}`, intent.nonce, commonOrders(context, intent), context.env);
}
