/** Who needs a person now, why, and what to type next. */
import type { AgentId, TaskId } from "../core/ids.ts";
import { ENDED_PHASES, type ListRecord } from "../core/types.ts";
import type { AgentSummary } from "../monitor/summary.ts";
import type { Context } from "./context.ts";
import { list } from "./list.ts";
import { latestSummaries } from "./summaries.ts";

/** In the order in which they matter: what nobody looks after comes before what can wait. */
const NEEDS = ["lost", "stuck", "held", "blocked", "off_track", "failed"] as const;

interface Need {
  agent: AgentId;
  task: TaskId;
  need: (typeof NEEDS)[number];
  why: string;
  since: string | null;
  /** The next useful command. */
  next: string;
}

export interface Attention {
  needs: Need[];
  /** What lives and needs nobody. */
  running: { agent: AgentId; does: string }[];
  queued: number;
  /** Ended within a day, as they should or because they were stopped. */
  ended: number;
}

export async function attention(context: Context): Promise<Attention> {
  const summaries = new Map((await latestSummaries(context)).map((one) => [one.instance_id, one]));
  const listed = await list(context, {});
  const needs: Need[] = [];
  const running: Attention["running"] = [];
  let queued = 0;
  let ended = 0;
  for (const record of listed) {
    const summary = summaries.get(record.agent);
    const found = needOf(record, summary);
    if (found !== undefined) needs.push({ agent: record.agent, task: record.task, ...found });
    else if (record.queued) queued++;
    else if (ENDED_PHASES.includes(record.phase) || record.outcome !== null) ended++;
    else running.push({ agent: record.agent, does: summary?.current_activity ?? "" });
  }
  needs.sort((a, b) => NEEDS.indexOf(a.need) - NEEDS.indexOf(b.need));
  return { needs, running, queued, ended };
}

function needOf(record: ListRecord, summary: AgentSummary | undefined): Omit<Need, "agent" | "task"> | undefined {
  const { agent, phase, outcome, alive, hold, exit, reason, ended_at, bytes } = record;
  if (phase === "lost" && alive?.length !== 0) {
    const lives = alive === null ? "nobody can see whether it lives" : `${alive.length} of its processes live on`;
    return { need: "lost", why: `its keeper is gone, ${lives}`, since: null, next: `midwatch stop ${agent}` };
  }
  if (phase === "stuck")
    return { need: "stuck", why: "processes of it cannot be ended", since: null, next: `midwatch show ${agent}` };
  if (hold) return { need: "held", why: `held: ${hold.why}`, since: hold.since, next: "midwatch health" };
  if (outcome === "failed" || outcome === "limit" || outcome === "lost" || phase === "launch_failed") {
    const how = exit.signal ?? (exit.code === null ? "its exit is not known" : `exit ${exit.code}`);
    return {
      need: outcome === "lost" ? "lost" : "failed",
      why: reason ?? how,
      since: ended_at,
      next: `midwatch logs ${bytes === 0 ? "--stderr " : ""}${agent}`,
    };
  }
  if (outcome !== null || summary === undefined || summary.run !== record.run) return undefined;
  const verdict = summary.on_track_status;
  if (verdict !== "blocked" && verdict !== "off_track") return undefined;
  const [first] = summary.evidence;
  const until = summary.resets_at === null ? "" : `, resets at ${summary.resets_at}`;
  const why = summary.cause ?? (first === undefined ? "" : `${first.value} ${first.about}`);
  return { need: verdict, why: `${why}${until}`, since: summary.since, next: `midwatch summary ${agent}` };
}
