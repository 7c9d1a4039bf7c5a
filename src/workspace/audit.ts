/**
 * What midwatch did and what agents told it, as lines of events.log: the one way in which our own code writes there. Best effort: the
 * facts of a run are the truth, and a full disk must not fail a stop over a line. Callers see to it that an action is told once; most
 * do so by acting under the lock of the run, others by giving an id that the same thing always has.
 */
import type { AgentId, TaskId } from "../core/ids.ts";
import { appendInside } from "../disk/write-inside.ts";
import { appendLatency } from "../journal/append-latency.ts";
import { makeEvent } from "../journal/event.ts";
import { readCompanion } from "../trust/companion-record.ts";
import type { Context } from "./context.ts";

export interface AuditEvent {
  type:
    | "agent.started"
    | "agent.ended"
    | "agent.limit"
    | "agent.bad_line"
    | "budget.reached"
    | "cleanup.archived"
    | "cleanup.deleted"
    | "cleanup.failed"
    | "prune.trashed"
    | "prune.announced"
    | "prune.deleted"
    | "prune.restored"
    | "progress"
    | "finding"
    | "turn"
    | "verdict.changed"
    | "stop.failed"
    | "http.change"
    | "fleet.change"
    | "error";
  /** For people, one sentence; or what an agent said. */
  content: string;
  task?: TaskId;
  agent?: AgentId;
  data?: Record<string, unknown>;
  /** midwatch, unless it is what an agent said. */
  actor?: string;
  /** 0, unless it belongs to a conversation. */
  interaction?: number;
  id?: string;
  timestamp?: string;
}

export function audit(context: Context, given: readonly AuditEvent[]): void {
  const { layout } = context;
  const events = given.filter((event) => !isRoutine(context, event));
  if (events.length === 0) return;
  const records = events.map((event) => makeEvent({ interaction: 0, actor: "midwatch", ...event }));
  const begun = performance.now();
  try {
    appendInside(layout.root, layout.events, records);
    appendLatency.own.add((performance.now() - begun) / 1000);
  } catch {
    // No room, no right, or a link in its place: nothing that could be done here.
  }
}

/** The companion comes and goes; that is in its runs, and no news for those who read the journal. */
function isRoutine({ trust, layout }: Context, { type, agent }: AuditEvent): boolean {
  if (type !== "agent.started" && type !== "agent.ended") return false;
  return agent !== undefined && readCompanion(trust.state, layout.root)?.agent === agent;
}
