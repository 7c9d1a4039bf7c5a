/** The agents of a workspace as they are now: what the registry knows, corrected by what was just observed. */

import { withBudgets } from "../budget/shown.ts";
import type { AgentId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import type { AgentSummary } from "../core/summary.ts";
import { iso } from "../core/time.ts";
import type { ChildRecord, ListRecord, ShowRecord } from "../core/types.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { locate } from "../facts/locate.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { agentRow, listRecord, runRow, runSummary } from "../facts/record.ts";
import { trackedFiles } from "../facts/tracked.ts";
import { isPinned } from "../files/pin.ts";
import type { Registry, RunRow } from "../registry/registry.ts";
import { Maskers } from "../stream/maskers.ts";
import { burnRates } from "../workspace/burn-rates.ts";
import { companionOf, watcherOf } from "../workspace/companion.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { isOurs } from "../workspace/trust.ts";
import { worktreeState } from "../worktree/worktree.ts";
import { heldClaims } from "./claims/claims.ts";
import { reconcile } from "./reconcile.ts";

export interface ListOptions {
  /** Also those that ended more than a day ago. */
  all?: boolean | undefined;
  task?: string | undefined;
  /** Also the companion, of which most people need not know. */
  companion?: boolean | undefined;
  /** Told how many agents have ended that nobody has cleaned up after yet. */
  onLeft?: ((count: number) => void) | undefined;
}

const DAY_MS = 24 * 3600 * 1000;

/** Newest first. */
export async function list(context: Context, options: ListOptions): Promise<ListRecord[]> {
  const found = await reconcile(context);
  const count = found.filter(({ left }) => left).length;
  if (count > 0) options.onLeft?.(count);
  const observed = new Map(found.map((one) => [`${one.agent}.${one.run}`, one]));
  const { listed, said, summaries } = withReader(context, (registry) => {
    const rows = registry.list(options.all ? { all: true } : { since: iso(Date.now() - DAY_MS) });
    const live = rows.filter(({ run }) => run.outcome === null);
    return {
      listed: rows,
      said: registry.said(),
      summaries: new Map(live.map(({ run }) => [run.agent, storedSummary(registry, run)])),
    };
  });
  // Lost ones whose processes nobody can see from here, and what the registry could not be told yet.
  const known = new Set(listed.map(({ agent }) => agent.id));
  for (const { agent, facts, row, left } of found)
    if (facts.intent && !known.has(agent) && (!hasEnded(facts) || left))
      listed.push({ agent: agentRow(facts.intent), run: row });
  const rates = burnRates(context, listed);
  const hidden = options.companion ? undefined : companionOf(context)?.agent;
  const maskers = new Maskers(context);
  const rows = listed.map(({ run }) => observed.get(`${run.agent}.${run.run}`)?.row ?? run);
  const budgets = withBudgets(
    context,
    rows.filter((row) => !isOver(row)),
  );
  return listed
    .filter(({ agent }) => agent.id !== hidden)
    .sort((a, b) => compare(b.run.created_at, a.run.created_at) || compare(a.agent.id, b.agent.id))
    .filter(({ agent }) => options.task === undefined || agent.task === options.task)
    .map((entry) => {
      const fresh = observed.get(`${entry.run.agent}.${entry.run.run}`)?.row;
      // The watch's word is in the registry alone; facts do not hold it.
      const run = fresh ? { ...fresh, verdict: entry.run.verdict } : entry.run;
      const { agent } = run;
      const record = listRecord({ ...entry, run }, summaries.get(agent), rates.get(agent), said.get(agent));
      return maskers.listed(budgets(record));
    });
}

function storedSummary({ watched }: Registry, { agent, run }: Pick<RunRow, "agent" | "run">): AgentSummary | null {
  return (watched.summary(agent, run)?.data ?? null) as AgentSummary | null;
}

export async function show(context: Context, agent: AgentId, observed: readonly Observed[]): Promise<ShowRecord> {
  const { layout } = context;
  const { listed, facts } = locate(context, agent);
  const { task } = listed.agent;
  const fresh = observed.find((one) => one.agent === agent && one.run === listed.run.run)?.row;
  const now = fresh ?? (known(facts) ? runRow(layout, task, agent, listed.run.run, facts, true) : listed.run);
  const run = { ...now, verdict: listed.run.verdict };
  const { rows, said, summary } = withReader(context, (registry) => ({
    rows: registry.runsOf(agent),
    said: registry.said().get(agent),
    summary: storedSummary(registry, run),
  }));
  const earlier = (row: RunRow): RunRow => {
    const then = readFacts(layout.run(task, agent, row.run));
    return known(then) ? runRow(layout, task, agent, row.run, then, false) : row;
  };
  const budgets = withBudgets(context, isOver(run) ? [] : [run]);
  const rate = burnRates(context, [{ ...listed, run }]).get(agent);
  const maskers = new Maskers(context);
  const result = facts.cleanup?.result;
  const deferred = result?.deferred ?? null;
  return {
    ...maskers.listed(budgets(listRecord({ agent: listed.agent, run }, summary, rate, said))),
    runs: rows.map((row) => runSummary(row.run === run.run ? run : earlier(row))),
    files: trackedFiles(layout, { task, agent, run: run.run }),
    cleanup_failures: facts.cleanup?.failures ?? [],
    pinned: isPinned(context, { task, agent }),
    subagents: result?.subagents ?? null,
    deferred: deferred && { ...deferred, input: maskers.of(agent, run.run).value(deferred.input) },
    children: below(context, agent, observed),
    watched_by: await watcherOf(context),
    claim: isOver(run) ? null : ((await heldClaims(context, task)).find(({ holder }) => holder === agent) ?? null),
    // Git runs what a repository says: not in one that came with a stranger's workspace.
    worktree: isOurs(context) ? await worktreeState(context, { task, agent, run: run.run }) : null,
  };
}

/** Whether its files say more than its row, if only that they are damaged. */
function known({ intent, unreadable }: Facts): boolean {
  return intent !== undefined || unreadable;
}

function below(context: Context, agent: AgentId, observed: readonly Observed[]): ChildRecord[] {
  return withReader(context, (registry) => registry.children(agent)).map((listed) => {
    const { id } = listed.agent;
    const fresh = observed.find((one) => one.agent === id && one.run === listed.run.run)?.row;
    const { phase, outcome, driver, role } = listRecord({ ...listed, run: fresh ?? listed.run });
    return { agent: id, driver, role, phase, outcome, children: below(context, id, observed) };
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
