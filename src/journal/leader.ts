/**
 * One process that wants to lead: it looks at the lease again and again beside its other work, and shows that it is alive. A round of
 * work may take long; the looks go on meanwhile. Whether we lead is asked each time, never remembered.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../core/config/config.ts";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { monoMs } from "../core/time.ts";
import { isGone, self } from "../process/identity.ts";
import type { Engine, Registers } from "./engine.ts";
import { type JournalEvent, makeEvent } from "./event.ts";
import { Heartbeat, sweepHeartbeats } from "./heartbeat.ts";
import { Lease, type LeaseStep, type LeaseValue } from "./lease.ts";
import { Pause } from "./pause.ts";
import { HEARTBEAT, LEADER } from "./term.ts";

/** A crash is noticed at the next look. */
const LOOK_MAX_MS = 250;
/** Who leads only has to renew in time. */
const LEADER_LOOK_MAX_MS = 1000;
/** Of the lease's time: so no heartbeat is as old as all of it while its leader lives. */
const BEATS_EVERY = 0.5;
/** Of one who leads and does no more: `midwatch lead`. */
const LEADS_ONLY = "lead";

/** How a process wants to lead. */
export interface LeaderOptions {
  ttlMs: number;
  /** What this process is, such as `up`; the beginning of its name. One that is called `lead` does no rounds. */
  kind: string;
  /** For whom it leads, when that is an agent: what it appends is told under this name. */
  actor?: string | undefined;
  /** Whether anybody is there to hear that we lead: then the journal gets an event of the type heartbeat, again and again. */
  heard?: (() => boolean) | undefined;
  /** What to do after a write error, and where to tell of it. */
  pause: Config["pause"];
  tell(text: string): void;
  /** The process is told to end; `close` is still to be called. */
  signal: AbortSignal;
  onStep?: ((step: LeaseStep) => void) | undefined;
}

/** Wants to lead on an engine, from now until it is closed: one of all who want to does, and another follows it. */
export class Leader {
  /** Under which others see it: its kind, its pid and some digits. */
  readonly name: string;
  /** Under which the journal tells of it. */
  readonly actor: string;
  /** For the work of this process: one that cannot be written pauses it, as it pauses the looks. */
  readonly pause: Pause;
  readonly #lease: Lease;
  readonly #heartbeat: Heartbeat;
  readonly #engine: Engine;
  readonly #options: LeaderOptions;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  #term: number | undefined;
  #beatenMs = Number.NEGATIVE_INFINITY;
  #beating: Promise<unknown> | undefined;
  #wake: (() => void) | undefined;
  #fault: MidwatchError | undefined;

  constructor(engine: Engine, options: LeaderOptions) {
    this.name = `${options.kind}-${process.pid}-${randomBytes(3).toString("hex")}`;
    this.actor = options.actor ?? this.name;
    this.#engine = engine;
    this.#options = options;
    const onStep = options.onStep === undefined ? {} : { onStep: options.onStep };
    const { ttlMs } = options;
    this.#lease = new Lease(engine, { holder: this.name, actor: this.actor, process: self(), ttlMs, ...onStep });
    this.#heartbeat = new Heartbeat(engine, this.name, options.kind);
    const { pause: mode, tell, signal } = options;
    const end = (): void => {
      this.#ending.abort();
      this.#wake?.();
    };
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    this.pause = new Pause(engine, { actor: this.name, mode, tell, signal: this.#ending.signal });
    this.#running = this.#run();
  }

  /** The term in which we lead at this moment; undefined when we do not. */
  get term(): number | undefined {
    return this.#lease.term;
  }

  /** Somebody else leads, and does no rounds (`midwatch lead`). */
  get isLedOnly(): boolean {
    const { other } = this.#lease;
    return other !== undefined && !doesRounds(other);
  }

  /** Appends with our term; false when we do not lead. */
  append(events: readonly JournalEvent[]): Promise<boolean> {
    return this.#lease.append(events);
  }

  /** Until this much time has passed, we began or ceased to lead, or are told to end. For one caller. Throws when we can never lead. */
  async wait(ms: number): Promise<void> {
    const over = new AbortController();
    this.#wake = () => over.abort();
    if (this.#fault === undefined) await sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #run(): Promise<void> {
    const { ttlMs } = this.#options;
    const { signal } = this.#ending;
    let beaten = Number.NEGATIVE_INFINITY;
    const look = async (): Promise<void> => {
      if (monoMs() - beaten >= ttlMs / 4) {
        await this.#heartbeat.beat();
        beaten = monoMs();
      }
      await this.#lease.step();
    };
    let failing = false;
    while (!signal.aborted) {
      try {
        await this.pause.persist("Looking after the lease", look);
        failing = false;
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof MidwatchError && !error.retryable) return this.#giveUp(error);
        if (!failing) this.#options.tell(`Looking after the lease failed: ${toMidwatchError(error).message}`);
        failing = true; // Once for a row of failures: the next look is soon.
      }
      await this.#tell();
      this.#beat();
      const most = this.#lease.term === undefined ? LOOK_MAX_MS : LEADER_LOOK_MAX_MS;
      await sleep(Math.min(most, ttlMs / 16), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Beside the looks: a disk that is slow must not cost us the lease. What cannot be written is told by those who have more to say. */
  #beat(): void {
    const due = monoMs() - this.#beatenMs >= BEATS_EVERY * this.#options.ttlMs;
    if (this.term === undefined || !due || this.#beating !== undefined) return;
    this.#beating = this.#sayAlive(this.term)
      .catch(() => undefined)
      .finally(() => {
        this.#beating = undefined;
      });
  }

  async #sayAlive(term: number): Promise<void> {
    const { ttlMs, heard } = this.#options;
    if (heard?.() !== true) return;
    this.#beatenMs = monoMs();
    const { actor } = this;
    const content = `${actor} leads (term ${term})`;
    await this.append([makeEvent({ interaction: 0, actor, type: HEARTBEAT, content, data: { ttl_ms: ttlMs } })]);
  }

  /** What no waiting mends, such as a file system without hard links. */
  #giveUp(error: MidwatchError): void {
    this.#fault = error;
    this.#wake?.();
  }

  async #tell(): Promise<void> {
    const { term } = this.#lease;
    if (term === this.#term) return;
    this.#term = term;
    this.#beatenMs = Number.NEGATIVE_INFINITY; // A new leader says so at once.
    this.#wake?.();
    if (term !== undefined) await sweepHeartbeats(this.#engine).catch(() => undefined);
  }

  /** Gives the lease back; others follow at once. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    await this.#beating;
    await this.#lease.resign().catch(() => undefined);
    await this.#heartbeat.end().catch(() => undefined);
  }
}

/** Who leads a workspace or a fleet, as one look tells. */
export interface Leadership {
  role: string;
  /** `held`; `overdue`: not renewed for its time, somebody will follow; `gone`: its process is; `resigned`; `none` ever led. */
  state: "held" | "overdue" | "gone" | "resigned" | "none";
  holder: string | null;
  term: number | null;
  since: string | null;
  pid: number | null;
  ttl_ms: number | null;
}

/** Who leads, as one look can tell. Nothing is decided from this. */
export async function leadership(registers: Registers): Promise<Leadership> {
  const role = LEADER;
  const value = (await registers.get<LeaseValue | null>(`leases/${role}`))?.value;
  if (typeof value?.holder !== "string")
    return { role, state: "none", holder: null, term: null, since: null, pid: null, ttl_ms: null };
  const { holder, term, since, process: who, ttl_ms } = value;
  return { role, state: stateOf(value), holder, term, since, pid: who?.pid ?? null, ttl_ms };
}

/** Whether somebody leads who does the rounds of `midwatch up`. */
export function isHoused({ state, holder }: Leadership): boolean {
  return state === "held" && holder !== null && doesRounds(holder);
}

function doesRounds(holder: string): boolean {
  return !holder.startsWith(`${LEADS_ONLY}-`);
}

export async function* watchLeadership(registers: Registers, signal: AbortSignal): AsyncGenerator<Leadership> {
  for (let before = ""; !signal.aborted; ) {
    const now = await leadership(registers);
    const text = JSON.stringify(now);
    if (text !== before) yield now;
    before = text;
    await sleep(LOOK_MAX_MS, undefined, { signal }).catch(() => undefined);
  }
}

function stateOf({ resigned, process: who, renewed_mono_ms, ttl_ms }: LeaseValue): Leadership["state"] {
  if (resigned) return "resigned";
  if (who === null || who === undefined) return "held";
  if (isGone(who)) return "gone";
  return who.boot_id === self().boot_id && monoMs() - renewed_mono_ms > ttl_ms ? "overdue" : "held";
}
