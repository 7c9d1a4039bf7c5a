/**
 * What waits to be sent on one route, as plain data and functions of the time: which events become one message, how many messages go
 * out, and when one that failed is tried again. Every event that is added ends up in exactly one message: as its own, as one of "x N
 * more" of the same kind, or, when more wait than a person would read, as one of "and N more". Only the trouble of an agent is told
 * at most once while it lasts, and not at all when it is over before it was told.
 *
 * A message that may have been sent is not changed any more: its receiver may know its id, and would take the longer one for a copy.
 */
import { type Alert, keyOf } from "./message.ts";
import { ENDED_BADLY, type Trouble } from "./rules.ts";

export interface Timing {
  /** The same news is told once in this time. */
  windowMs: number;
  /** Messages that may go out at once, and how long it takes until one more may: at most 11 in a minute. */
  burst: number;
  everyMs: number;
  /** Pauses between tries; then it is a dead letter. */
  retryMs: readonly number[];
}

export const TIMING: Timing = {
  windowMs: 300_000,
  burst: 5,
  everyMs: 10_000,
  retryMs: [5000, 30_000, 120_000, 600_000, 3_600_000],
};

export interface QueuedAlert {
  key: string;
  alert: Alert;
  /** It may have been sent. */
  sent: boolean;
  /** How often that failed. */
  tries: number;
  /** Not before. */
  due: number;
}

interface Window {
  until: number;
  /** What came since the message went out, as one. */
  held: Alert | null;
}

export interface QueueState {
  waiting: QueuedAlert[];
  windows: Record<string, Window>;
  tokens: number;
  filled: number;
  /** The receiver asked for quiet until then. */
  quiet: number;
  /** Troubles that were taken for this route and last, by agent: run and state. Missing in what 0.1 kept. */
  troubles?: Record<string, string>;
}

export type Failure =
  /** Later it may work; `afterMs` is what the receiver asked for. */
  { again: true; afterMs?: number | undefined } | { again: false };

const WAITING_MOST = 20;
/** So many messages may be between their first and last try. The others stay as they are and can still be joined by more. */
const TRIED_MOST = 3;
const TROUBLES_MOST = 500;
const AFTER_MIN_MS = 1000;
const AFTER_MAX_MS = 3_600_000;
const JITTER = 0.2;

export function emptyQueue(timing: Timing, now: number): QueueState {
  return { waiting: [], windows: {}, tokens: timing.burst, filled: now, quiet: 0 };
}

export class Queue {
  readonly state: QueueState;
  readonly #timing: Timing;
  readonly #random: () => number;

  constructor(state: QueueState, timing: Timing, random: () => number = Math.random) {
    this.state = state;
    this.#timing = timing;
    this.#random = random;
  }

  /** `trouble` is what the event says of one. */
  add(alert: Alert, now: number, trouble: Trouble | null = null): void {
    this.closeWindows(now);
    if (trouble !== null && trouble.state !== null && !this.#begins(trouble)) return;
    const key = keyOf(alert);
    const window = this.state.windows[key];
    if (window === undefined) this.#enqueue(key, alert, now);
    else {
      const open = this.state.waiting.find((entry) => entry.key === key && !entry.sent);
      if (open !== undefined) open.alert.more++;
      else if (window.held === null) window.held = alert;
      else window.held.more++;
    }
  }

  /** The agent's trouble is over: what was not told of it is no news any more. Says whether it was told; null when there was none. */
  heal(agent: string): "told" | "dropped" | null {
    const { troubles = {} } = this.state;
    const known = troubles[agent];
    if (known === undefined || known.endsWith(ENDED_BADLY)) return null;
    delete troubles[agent];
    return this.#drop(agent) ? "dropped" : "told";
  }

  /** False when this trouble was taken before. */
  #begins({ agent, run, state }: Trouble): boolean {
    this.state.troubles ??= {};
    const { troubles } = this.state;
    const known = troubles[agent];
    if (known === `${run} ${state}` || known === `${run} ${ENDED_BADLY}`) return false;
    if (state === ENDED_BADLY) this.#drop(agent);
    delete troubles[agent];
    troubles[agent] = `${run} ${state}`;
    const [oldest] = Object.keys(troubles);
    if (oldest !== undefined && Object.keys(troubles).length > TROUBLES_MOST) delete troubles[oldest];
    return true;
  }

  /** Verdicts about an agent that nobody has heard of. True when there was one. */
  #drop(agent: string): boolean {
    const { state } = this;
    const waiting = state.waiting.length;
    const isVerdict = (alert: Alert): boolean => alert.type === "verdict.changed" && alert.agent === agent;
    state.waiting = state.waiting.filter(({ alert, sent }) => sent || !isVerdict(alert));
    let dropped = state.waiting.length < waiting;
    for (const window of Object.values(state.windows)) {
      if (window.held === null || !isVerdict(window.held)) continue;
      window.held = null;
      dropped = true;
    }
    return dropped;
  }

  /** What was held back goes out when its time is over. True when there was anything. */
  closeWindows(now: number): boolean {
    let changed = false;
    for (const [key, { until, held }] of Object.entries(this.state.windows)) {
      if (now < until) continue;
      delete this.state.windows[key];
      if (held !== null) this.#enqueue(key, held, now);
      changed = true;
    }
    return changed;
  }

  #enqueue(key: string, alert: Alert, now: number): void {
    const { waiting, windows } = this.state;
    if (waiting.length < WAITING_MOST) {
      waiting.push({ key, alert, sent: false, tries: 0, due: now });
      windows[key] = { until: now + this.#timing.windowMs, held: null };
      return;
    }
    const last = waiting.at(-1);
    const count = alert.more + 1;
    if (last?.alert.rest && !last.sent) last.alert.rest[alert.type] = (last.alert.rest[alert.type] ?? 0) + count;
    else waiting.push({ key: "", alert: restOf(alert, count), sent: false, tries: 0, due: now });
  }

  /** The next that may be sent now; it counts as sent, and must be kept so before it is. */
  take(now: number): QueuedAlert | undefined {
    const { state } = this;
    if (now < state.quiet) return undefined;
    const tried = state.waiting.filter(({ sent }) => sent);
    const fresh = tried.length < TRIED_MOST ? state.waiting.find(({ sent }) => !sent) : undefined;
    const entry = tried.find(({ due }) => due <= now) ?? fresh;
    if (entry === undefined || !this.#takeToken(now)) return undefined;
    entry.sent = true;
    return entry;
  }

  #takeToken(now: number): boolean {
    const { state } = this;
    const { burst, everyMs } = this.#timing;
    const more = Math.floor((now - state.filled) / everyMs);
    if (more > 0) {
      state.tokens = Math.min(burst, state.tokens + more);
      state.filled = state.tokens === burst ? now : state.filled + more * everyMs;
    }
    if (state.tokens === 0) return false;
    // A full bucket gathers nothing: the time counts from the first that is taken out.
    if (state.tokens === burst) state.filled = now;
    state.tokens--;
    return true;
  }

  delivered(entry: QueuedAlert): void {
    this.state.waiting = this.state.waiting.filter((one) => one !== entry);
  }

  /** True when it will not be tried again; it is still in the queue then. */
  failed(entry: QueuedAlert, failure: Failure, now: number): boolean {
    const pause = this.#timing.retryMs[entry.tries];
    entry.tries++;
    if (!failure.again || pause === undefined) return true;
    const jittered = pause * (1 - JITTER + 2 * JITTER * this.#random());
    const asked = Math.min(Math.max(failure.afterMs ?? 0, AFTER_MIN_MS), AFTER_MAX_MS);
    entry.due = now + Math.max(jittered, asked);
    if (failure.afterMs !== undefined) this.state.quiet = now + asked;
    return false;
  }
}

/** Keeps the id of the first that it stands for: no other message has it. */
function restOf(alert: Alert, count: number): Alert {
  return {
    ...alert,
    title: "more events",
    text: "",
    actor: "midwatch",
    task: null,
    agent: null,
    data: null,
    more: 0,
    rest: { [alert.type]: count },
  };
}

/** The times of another boot mean nothing here: what waited may go at once, and what was told lately counts as told now. */
export function rebase(state: QueueState, timing: Timing, now: number): void {
  for (const entry of state.waiting) entry.due = now;
  for (const window of Object.values(state.windows)) window.until = now + timing.windowMs;
  state.filled = now;
  state.quiet = 0;
}
