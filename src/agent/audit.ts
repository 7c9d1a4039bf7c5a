/**
 * What midwatch did, as lines of events.log. Best effort: the facts of a run are the truth, and a full disk must not fail a stop
 * over a line. Callers see to it that an action is told once; most do so by acting under the lock of the run.
 */
import { type AgentId, type TaskId, uuidv7 } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { appendInside } from "../disk/write-inside.ts";
import type { Context } from "./context.ts";

export interface AuditEvent {
  type:
    | "agent.started"
    | "agent.ended"
    | "cleanup.archived"
    | "cleanup.deleted"
    | "cleanup.failed"
    | "prune.trashed"
    | "prune.deleted"
    | "prune.restored";
  /** For people, one sentence. */
  content: string;
  task?: TaskId;
  agent?: AgentId;
  data?: Record<string, unknown>;
}

export function audit({ layout }: Context, events: readonly AuditEvent[]): void {
  if (events.length === 0) return;
  const records = events.map(({ type, content, ...about }) => ({
    v: 1,
    id: uuidv7(),
    interaction: 0,
    actor: "midwatch",
    type,
    content,
    timestamp: iso(),
    ...about,
  }));
  try {
    appendInside(layout.root, layout.events, records);
  } catch {
    // No room, no right, or a link in its place: nothing that could be done here.
  }
}
