/** What a task wants done when the watch is sure that one of its agents is blocked or off track. Without a wish nothing is done. */

import type { AgentId } from "../core/ids.ts";
import type { VerdictPolicy } from "../core/intent.ts";
import type { AgentSummary } from "../core/summary.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { hasEnded } from "../facts/observe.ts";
import { signalMain } from "../process/identity.ts";
import { stop } from "../run/stop.ts";
import { type Context, withReader } from "../workspace/context.ts";

export async function actOnVerdict(context: Context, summary: AgentSummary): Promise<void> {
  const { instance_id: agent, task, run, level, on_track_status: verdict } = summary;
  if (level !== "alert" || (verdict !== "blocked" && verdict !== "off_track")) return;
  const policy = withReader(context, (registry) => registry.task(task))?.data["on_verdict"] as
    | VerdictPolicy
    | undefined;
  if (policy !== "stop" && policy !== "interrupt") return;
  const facts = readFacts(context.layout.run(task, agent, run));
  if (hasEnded(facts) || newest(context, agent) !== run) return;
  if (policy === "stop") await stop(context, [agent], { reason: `${verdict}: ${summary.drift_reasons[0] ?? ""}` });
  else interrupt(facts);
}

function newest(context: Context, agent: AgentId): number | undefined {
  return withReader(context, (registry) => registry.get(agent))?.run.run;
}

/** As Ctrl-C would: CLIs end their turn and say how far they came. */
function interrupt({ start }: Facts): void {
  if (start?.main) signalMain({ ...start, main: start.main }, "SIGINT");
}
