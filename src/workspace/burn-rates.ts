/** What living agents spend in an hour, by what the ledger has of their last ten minutes. */
import type { AgentId } from "../core/ids.ts";
import type { Listed } from "../registry/registry.ts";
import type { Context } from "./context.ts";
import { spenderOf } from "./record-spend.ts";

const MINUTE_MS = 60_000;
const MINUTES = 10;

/** Of those that live and of whom the ledger knows; a ledger that cannot be read knows nobody. */
export function burnRates(context: Context, listed: readonly Listed[]): ReadonlyMap<AgentId, number> {
  const workspace = spenderOf(context)?.id;
  const living = listed.filter(({ run }) => run.outcome === null && run.started_at !== null);
  if (workspace === undefined || living.length === 0) return new Map();
  const nowMs = Date.now();
  const agents = living.map(({ agent }) => agent.id);
  const filter = { workspace, sinceMs: nowMs - MINUTES * MINUTE_MS, agents };
  try {
    const spent = new Map(context.ledger.sums(filter, "agent").map(({ of, usd }) => [of, usd]));
    const known = context.ledger.known(workspace, agents);
    return new Map(
      living
        .filter(({ run }) => known.has(`${run.agent}.${run.run}`))
        .map(({ agent, run }) => {
          // Whole minutes, as the ledger counts: the figure stands still while nothing is spent.
          const age = Math.ceil((nowMs - Date.parse(run.started_at as string)) / MINUTE_MS);
          const minutes = Math.max(1, Math.min(MINUTES, age));
          // A correction downwards is no income.
          return [agent.id, (Math.max(0, spent.get(agent.id) ?? 0) * 60) / minutes];
        }),
    );
  } catch {
    return new Map();
  }
}
