/** Who needs a person now, after a look at everybody who lives. Who does is decided in `core/attention`. */

import { ATTENTION_KINDS, type AttentionKind } from "../core/attention-record.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import { list } from "../run/list.ts";
import type { Context } from "../workspace/context.ts";
import { latestSummaries } from "./summaries.ts";

interface Need {
  agent: AgentId;
  task: TaskId;
  need: AttentionKind;
  why: string;
  since: string | null;
  /** The next useful command. */
  next: string;
}

export interface Needs {
  needs: Need[];
  /** What lives and needs nobody. */
  running: { agent: AgentId; does: string }[];
  queued: number;
  /** Ended within a day, as they should or because they were stopped. */
  ended: number;
}

export async function needs(context: Context, onLeft?: (count: number) => void): Promise<Needs> {
  const summaries = new Map((await latestSummaries(context)).map((one) => [one.instance_id, one]));
  const found: Needs = { needs: [], running: [], queued: 0, ended: 0 };
  for (const record of await list(context, { onLeft })) {
    const { agent, task, attention, phase, outcome, hold, ended_at } = record;
    const summary = summaries.get(agent);
    if (attention !== null) {
      const since = ended_at ?? hold?.since ?? (attention.kind === "lost" ? null : (summary?.since ?? null));
      found.needs.push({ agent, task, need: attention.kind, why: attention.why, since, next: attention.next });
    } else if (record.queued) found.queued++;
    else if (isOver({ phase }) || outcome !== null) found.ended++;
    else found.running.push({ agent, does: summary?.current_activity ?? "" });
  }
  found.needs.sort((a, b) => ATTENTION_KINDS.indexOf(a.need) - ATTENTION_KINDS.indexOf(b.need));
  return found;
}
