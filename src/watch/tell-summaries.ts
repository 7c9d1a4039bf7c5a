/**
 * Summaries on disk and in the journal: latest_summary.json is replaced, a change of the verdict is a line of summary_history.jsonl and
 * an event. A change has one id however often it is told, so telling it again after a crash adds nothing.
 */

import { throwIfExhausted } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { VerdictPolicy } from "../core/intent.ts";
import type { AgentSummary } from "../core/summary.ts";
import { makeFolder } from "../disk/inside.ts";
import { appendInside, replaceFastInside } from "../disk/write-inside.ts";
import { readFacts } from "../facts/facts.ts";
import { lastReports } from "../facts/last-reports.ts";
import { hasEnded } from "../facts/observe.ts";
import { signalMain } from "../process/identity.ts";
import type { SummaryRow } from "../registry/registry.ts";
import { stop } from "../run/stop.ts";
import { audit } from "../workspace/audit.ts";
import { type Context, catchUp, withReader } from "../workspace/context.ts";
import { verdictWords } from "./verdict-words.ts";

/** Writers of the history that overlap for a moment: looked for among the last lines. */
const HISTORY_LOOK = 4;

/** `fresh` are new to the files; what the registry has and nobody told is told too. Gives the changes. */
export async function tellSummaries(context: Context, fresh: readonly AgentSummary[]): Promise<AgentSummary[]> {
  const untold = withReader(context, (registry) => registry.watched.untold());
  const changes = new Set(untold.map(({ id }) => id));
  for (const summary of fresh) if (!changes.has(summary.id)) attempt(() => putLatest(context, summary));
  const told: SummaryRow[] = [];
  for (const row of untold) {
    const summary = row.data as unknown as AgentSummary;
    if (!attempt(() => tell(context, summary, row.told === null))) continue;
    await actOnVerdict(context, summary);
    told.push(row);
  }
  catchUp(context, (registry) => registry.watched.markTold(told));
  return told.map(({ data }) => data as unknown as AgentSummary);
}

/** No room, or a folder that is being taken away: told by a later round. */
function attempt(act: () => void): boolean {
  try {
    act();
    return true;
  } catch (error) {
    throwIfExhausted(error);
    return false;
  }
}

function tell(context: Context, summary: AgentSummary, first: boolean): void {
  const { layout } = context;
  const { task, instance_id: agent, id, on_track_status: verdict } = summary;
  const paths = layout.agent(task, agent);
  if (!putLatest(context, summary)) return;
  const known = lastReports<AgentSummary>(paths.summaryHistory, HISTORY_LOOK);
  const before = known.findLast((one) => one.id !== id && one.run === summary.run) ?? null;
  if (!known.some((one) => one.id === id)) appendInside(layout.root, paths.summaryHistory, [summary]);
  if (first && verdict === "unknown") return; // That nothing is known of a new agent is no news.
  audit(context, [
    {
      id,
      type: "verdict.changed",
      task,
      agent,
      content: verdictWords(summary, before),
      timestamp: summary.since,
      data: {
        run: summary.run,
        verdict,
        level: summary.level,
        confidence: summary.confidence_score,
        cause: summary.cause,
        resets_at: summary.resets_at,
        position: summary.position,
        evidence: summary.evidence,
      },
    },
  ]);
}

/** An earlier run's end does not replace what is said of the newest. False for an agent that was pruned: nothing is made for it. */
function putLatest(context: Context, summary: AgentSummary): boolean {
  const { layout } = context;
  const { task, instance_id: agent, run } = summary;
  const newest = newestRun(context, agent);
  if (newest === undefined) return false;
  const { summaries, latestSummary } = layout.agent(task, agent);
  makeFolder(layout.root, summaries);
  if (newest <= run) replaceFastInside(layout.root, latestSummary, `${JSON.stringify(summary, null, 1)}\n`);
  return true;
}

function newestRun(context: Context, agent: AgentId): number | undefined {
  return withReader(context, (registry) => registry.get(agent))?.run.run;
}

/** What the task wants done when the watch is sure that its agent is blocked or off track. Without a wish nothing is done. */
async function actOnVerdict(context: Context, summary: AgentSummary): Promise<void> {
  const { instance_id: agent, task, run, level, on_track_status: verdict } = summary;
  if (level !== "alert" || (verdict !== "blocked" && verdict !== "off_track")) return;
  // A model reads what the agent printed: nothing is done to a run on its word.
  if (summary.verdict_source === "rule+model") return;
  const policy = withReader(context, (registry) => registry.task(task))?.data["on_verdict"] as
    | VerdictPolicy
    | undefined;
  if (policy !== "stop" && policy !== "interrupt") return;
  const facts = readFacts(context.layout.run(task, agent, run));
  if (hasEnded(facts) || newestRun(context, agent) !== run) return;
  if (policy === "stop") await stop(context, [agent], { reason: `${verdict}: ${summary.drift_reasons[0] ?? ""}` });
  // As Ctrl-C would: CLIs end their turn and say how far they came.
  else if (facts.start?.main) signalMain({ ...facts.start, main: facts.start.main }, "SIGINT");
}
