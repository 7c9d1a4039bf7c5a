/**
 * Agents that have reported that they are done. One that lives on is ended after `done_silence` without output and reports; what is left
 * of it is cleaned up then, as when it ends by itself. An agent reports for itself alone, and so ends nobody else.
 */
import { existsSync } from "node:fs";
import { isTerminal } from "../core/phase.ts";
import { lastReports } from "../facts/last-reports.ts";
import type { Observed } from "../facts/observe.ts";
import { stat } from "../facts/record.ts";
import type { ProgressReport } from "../messages/report.ts";
import type { Context } from "../workspace/context.ts";

/** The report after which it is to be ended; undefined for one that is not. */
export function reportedEnd({ layout, config }: Context, one: Observed): ProgressReport | undefined {
  const { task, agent, run, row, facts } = one;
  if (config.done_silence === 0 || row.phase !== "running") return undefined;
  const [last] = lastReports<ProgressReport>(layout.agent(task, agent).progress, 1);
  if (last === undefined || !isTerminal(last.status) || last.timestamp < row.created_at) return undefined;
  // As long as it takes messages it may be told more.
  return facts.intent?.interactive && !existsSync(layout.run(task, agent, run).inputClosed) ? undefined : last;
}

/** Why it is ended now; undefined while it is not. */
export function lingers(context: Context, one: Observed): { reason: string } | undefined {
  const said = reportedEnd(context, one);
  if (said === undefined) return undefined;
  const { stderr, findings } = context.layout.agent(one.task, one.agent);
  const { done_silence: silenceMs } = context.config;
  const signs = [one.row.log, stderr, findings].map((path) => stat(path)?.mtimeMs ?? 0);
  if (Date.now() - Math.max(Date.parse(said.timestamp), ...signs) < silenceMs) return undefined;
  return { reason: `reported ${said.status}, then nothing for ${silenceMs / 1000} s` };
}
