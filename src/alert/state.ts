/**
 * How far alerts have come: where in the journal, and what waits on each route. One register, changed by compare-and-set, so that of two
 * processes that both take themselves for the leader one finds out before it sends. The place and what was taken up to there are
 * kept together: whoever is killed loses nothing.
 */
import { iso } from "../core/time.ts";
import type { Cursor, Registers } from "../journal/engine.ts";
import { emptyQueue, type QueueState, type Timing } from "./queue.ts";
import type { Route } from "./settings.ts";

const KEY = "registers/alerts";
const TRIES = 5;

export interface RouteState {
  queue: QueueState;
  /** Why it takes no more messages: its receiver said that it is gone. */
  off: string | null;
  /** Since its last message that arrived. */
  failing: { since: string; error: string } | null;
  delivered: number;
  dead: number;
  last_delivered_at: string | null;
}

export interface AlertState {
  v: 1;
  /** Whose clock the times in the queues are of. */
  boot_id: string;
  /** Null is the beginning. */
  after: Cursor | null;
  /** Taken lately: a copy of one is not taken again. */
  ids: string[];
  routes: Record<string, RouteState>;
}

export interface KeptState {
  state: AlertState;
  rev: number;
}

/** Undefined state: never kept, or nothing that can be used; `rev` is what a change has to name. */
export async function readState(registers: Registers): Promise<{ state: AlertState | undefined; rev: number }> {
  const kept = await registers.get<AlertState | null>(KEY);
  const state = kept?.value;
  // Others may write in this folder: what does not look like ours is none.
  const usable = state?.v === 1 && typeof state.routes === "object" && Array.isArray(state.ids);
  return { state: usable ? state : undefined, rev: kept?.rev ?? 0 };
}

/** The new revision; undefined when somebody else was faster. */
export function keepState(registers: Registers, { state, rev }: KeptState): Promise<number | undefined> {
  return registers.set(KEY, state, rev);
}

export function newRouteState(timing: Timing, now: number): RouteState {
  return {
    queue: emptyQueue(timing, now),
    off: null,
    failing: null,
    delivered: 0,
    dead: 0,
    last_delivered_at: null,
  };
}

export function arrived(route: RouteState): void {
  route.off = null;
  route.failing = null;
  route.delivered++;
  route.last_delivered_at = iso();
}

/** A message that a person sent by hand arrived: the route works. */
export async function noteArrival(registers: Registers, name: string): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const { state, rev } = await readState(registers);
    const route = state?.routes[name];
    if (state === undefined || route === undefined || (route.off === null && route.failing === null)) return;
    arrived(route);
    if ((await keepState(registers, { state, rev })) !== undefined) return;
  }
}

/** How a route fares. */
export interface RouteStatus {
  route: string;
  to: Route["to"];
  /** `unused`: nothing was ever sent on it; `off`: its receiver said that it is gone. */
  state: "ok" | "failing" | "off" | "unused";
  waiting: number;
  delivered: number;
  dead: number;
  last_delivered_at: string | null;
  failing_since: string | null;
  error: string | null;
}

export function statusOf({ name, to }: Pick<Route, "name" | "to">, kept: RouteState | undefined): RouteStatus {
  const { queue, off = null, failing = null, delivered = 0, dead = 0, last_delivered_at = null } = kept ?? {};
  const used = delivered > 0 ? "ok" : "unused";
  return {
    route: name,
    to,
    state: off !== null ? "off" : failing !== null ? "failing" : used,
    waiting: queue?.waiting.length ?? 0,
    delivered,
    dead,
    last_delivered_at,
    failing_since: failing?.since ?? null,
    error: off ?? failing?.error ?? null,
  };
}
