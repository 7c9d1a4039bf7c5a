/** That a run needs a person, or waits, as records tell it; `attention` decides the one, the queue and the budgets the other. */
import type { Permission } from "./intent.ts";

/** In the order in which they matter: what nobody looks after comes before what can wait. */
export const ATTENTION_KINDS = [
  "lost",
  "stuck",
  "damaged",
  "held",
  "asks",
  "blocked",
  "off_track",
  "budget",
  "launch_failed",
  "failed",
  "denied",
  "gave_up",
  "limit",
] as const;

export type AttentionKind = (typeof ATTENTION_KINDS)[number];

export interface Attention {
  kind: AttentionKind;
  /** In one sentence or two, with a full stop. */
  why: string;
  /** The next useful command; it works as it stands. */
  next: string;
}

/** What an ended run left to a person, as its driver read it; null where there is nothing of it. */
export interface Unsettled {
  /** The question that its last words ask. */
  asks: string | null;
  /** The tool call that it ended on, for a person to decide. */
  deferred: string | null;
  /** Tool calls that were not permitted: how many, the first of them, and what the run was permitted. */
  denied: { count: number; tool: string; call: string; permission: Permission } | null;
  /** So many tool calls, and every one of them failed. */
  failures: number | null;
}

/** What a run waits for that has everything but a process: a turn under `max_running`, or a budget. */
export interface Wake {
  on: "room" | "budget";
  /** In one sentence, with what to type where a person can change it. */
  why: string;
  /** It is not started before; null where no time decides it. */
  not_before: string | null;
}
