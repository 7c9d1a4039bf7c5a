/** A summary for people: the verdict, why, and the lines that anybody can open. */

import { standingWords, sureWords } from "../core/state-words.ts";
import type { AgentSummary } from "../fleet/workspace.ts";
import type { RenderOptions } from "./operation.ts";
import { age, paint, table, used } from "./render.ts";

const COLORS = { on_track: "green", drifting: "yellow", off_track: "red", blocked: "red", unknown: "dim" } as const;

function verdictText(verdict: AgentSummary["on_track_status"] | null, options: RenderOptions): string {
  return verdict === null ? "-" : paint(verdict, COLORS[verdict], options);
}

/** One line each. */
export function summaryTable(summaries: readonly AgentSummary[], options: RenderOptions): string {
  if (summaries.length === 0) return "No agents to watch.";
  const rows = summaries.map((one) => [
    one.instance_id,
    verdictText(one.on_track_status, options),
    age(one.since),
    one.cause ?? one.evidence[0]?.rule ?? "",
    one.current_activity,
  ]);
  return table([["AGENT", "VERDICT", "SINCE", "WHY", "DOES"], ...rows], options);
}

export function summaryText(one: AgentSummary, options: RenderOptions): string {
  const words = sureWords(one);
  const sure = words === "" ? "" : `, ${words}`;
  const cause = [one.cause, one.resets_at && `resets at ${one.resets_at}`].filter(Boolean).join(", ");
  const lines: string[][] = [
    ["agent", `${one.instance_id} (run ${one.run})`],
    ["verdict", `${verdictText(one.on_track_status, options)} since ${age(one.since)}${sure}`],
    ...(one.cause === null ? [] : [["cause", cause]]),
    ["does", one.current_activity],
    ["task", one.assigned_task],
    ["tools", one.recent_tools.join(", ") || "-"],
    ["idle", one.idle_duration_seconds === null ? "-" : `${one.idle_duration_seconds}s`],
    ["used", [used(one), one.model].filter(Boolean).join(", ") || "-"],
    ["advice", one.recommended_action],
    ...opinionOf(one),
  ];
  const why = one.evidence.flatMap(({ rule, level, value, threshold, about, log, quote }) => [
    `  ${paint(rule, level === "alert" ? "red" : "yellow", options)}  ${standingWords(rule, about, { value, cause: one.cause, silentMs: value * 1000 })}${threshold > 1 ? ` (threshold ${threshold})` : ""}`,
    ...(log === null
      ? [`    ${quote}`]
      : [
          `    ${paint(quote, "dim", options)}`,
          `    midwatch logs ${one.instance_id} --run ${log.run} --offset ${Math.max(0, log.line_start - 1)} --limit ${log.line_end - log.line_start + 1}`,
        ]),
  ]);
  return [table(lines), ...(why.length > 0 ? ["why", ...why] : [])].join("\n");
}

/** Said by a model beside the rules, with its name on it. */
function opinionOf({ second_opinion: opinion }: AgentSummary): [string, string][] {
  if (!opinion) return [];
  const { model, at, status, confidence, activity, recommended_action: advice } = opinion;
  const sure = `${Math.round(confidence * 100)} of 100 sure`;
  return [[model, [`${status}, ${sure}, ${age(at)} ago: ${activity}`, advice].filter(Boolean).join(" ")]];
}
