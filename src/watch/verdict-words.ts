/** A change of the verdict for a person: what happened, since when, what it costs, where it stands, what to do. And that it is over. Pure. */
import { standingWords, usdText } from "../core/state-words.ts";
import type { AgentSummary } from "../core/summary.ts";

export function verdictWords(summary: AgentSummary, before: AgentSummary | null): string {
  const { instance_id: agent, on_track_status: verdict, level, evidence, resets_at } = summary;
  const [first] = evidence;
  const words = first === undefined ? "" : whatHappened(summary, first);
  if (level !== "alert" && isAlert(before)) {
    const ended = `${agent} is ${verdict}: what was told since ${before.since} is over`;
    return before.cause === null ? `${ended}.` : `${ended} (${before.cause}).`;
  }
  if (first === undefined) return `${agent} is ${verdict}`;
  const reset = resets_at === null ? "" : ` Resets at ${resets_at}.`;
  const todo = level === "alert" ? ` Look: midwatch summary ${agent}. End it: midwatch stop ${agent}.` : "";
  return `${agent} is ${verdict}: ${words}${reset}${costWords(summary)} "${first.quote}"${placeWords(first)}.${todo}`;
}

function isAlert(before: AgentSummary | null): before is AgentSummary {
  return before !== null && before.level === "alert";
}

function whatHappened(
  { cause, idle_duration_seconds: idle }: AgentSummary,
  { rule, about, value }: AgentSummary["evidence"][number],
): string {
  return standingWords(rule, about, { value, cause, silentMs: (idle ?? 0) * 1000 });
}

/** Since its trouble began, by what the CLI or a list of prices tells. */
function costWords({ finding, cost_usd: now, since }: AgentSummary): string {
  const from = finding?.since ?? since;
  const spent = now === null || finding?.cost_usd == null ? "" : `, ${usdText(now - finding.cost_usd)} spent in it`;
  return ` Since ${from}${spent}.`;
}

function placeWords({ log }: AgentSummary["evidence"][number]): string {
  if (log === null) return "";
  return log.line_start === log.line_end
    ? ` (line ${log.line_start})`
    : ` (lines ${log.line_start} to ${log.line_end})`;
}
