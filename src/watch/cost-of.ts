/** What runs used. The end of a run is counted from its whole stream; of one that lives, or lost its keeper, the watch knows so far. */
import type { AgentSummary } from "../core/summary.ts";
import { iso } from "../core/time.ts";
import type { Tokens } from "../core/types.ts";
import { type CostBy, type CostRecord, costBy } from "../spend/spent.ts";
import { type Context, type RunName, withReader } from "../workspace/context.ts";
import { readOpinionState } from "./opinion/opinion-state.ts";
import { latestSummaries } from "./summaries.ts";

export async function costOf(context: Context, sinceMs: number, by: CostBy): Promise<CostRecord[]> {
  const open = new Map((await latestSummaries(context)).map((one) => [`${one.instance_id}.${one.run}`, one]));
  const runs = withReader(context, (registry) => registry.runsSince(iso(sinceMs)));
  return costBy(
    runs.map(({ agent, run }) => {
      const said: AgentSummary | undefined = run.tokens === null ? open.get(`${agent.id}.${run.run}`) : undefined;
      return {
        task: agent.task,
        agent: agent.id,
        model: said?.model ?? run.model ?? agent.model,
        tokens: run.tokens ?? said?.tokens ?? null,
        cost_usd: run.cost_usd ?? (said?.cost_estimated ? null : (said?.cost_usd ?? null)),
      };
    }),
    by,
    opinionsOf(
      context,
      runs.map(({ run, agent }) => ({ task: agent.task, agent: agent.id, run: run.run })),
    ),
  );
}

/** What a model that was asked about these agents used, for each agent once. */
function opinionsOf(context: Context, runs: readonly RunName[]): { model: string; tokens: Tokens }[] {
  const agents = new Map(runs.map((one) => [one.agent, one]));
  return [...agents.values()].flatMap((one) => {
    const { used } = readOpinionState(context, one);
    const { input, output, model } = used;
    return used.calls === 0 ? [] : [{ model, tokens: { input, output, cache_read: 0, cache_write: 0 } }];
  });
}
