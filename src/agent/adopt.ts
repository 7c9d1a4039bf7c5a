/** A run whose keeper was killed gets another: it takes up index, sync and guards, and can stop the run with proof. */

import { host } from "../process/identity.ts";
import { startKeeper } from "../process/keeper.ts";
import type { Context } from "./context.ts";
import { type Facts, hostOf, livingAdopter } from "./facts.ts";
import { commonOrders } from "./launch.ts";

export async function adopt(context: Context, facts: Facts): Promise<void> {
  const { intent, claim } = facts;
  // Only a keeper that is known and gone left something to take up; a claim that cannot be read is just being written.
  if (!intent || claim?.by !== "keeper" || facts.keeperLives || facts.done || livingAdopter(facts)) return;
  const where = hostOf(facts);
  // Another pid namespace of this boot: its processes may live and cannot be seen from here. Nothing is concluded.
  if (where?.boot_id === host().boot_id && where.pid_ns !== host().pid_ns) return;
  // An answer with an error means that another process was faster, or the log is gone; the facts will tell.
  await startKeeper("adopt", `${intent.agent}.${intent.run}`, intent.nonce, commonOrders(context, intent), context.env);
}
