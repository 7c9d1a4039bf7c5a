/**
 * Who leads. The lease is a register: its holder sets it again and again, and who sees it unchanged for its whole time, by an own
 * clock that never jumps, sets it for itself. No time of one process is ever compared with that of another. On this machine a
 * holder whose process is gone is followed at once.
 *
 * A holder that stands still does not know it. So it takes itself for the leader only for 0.8 of the lease's time after it *sent*
 * the last renewal, by both its clocks (the wall clock goes on while a machine sleeps), and what it then still writes carries a
 * term that its successor's election voids (term.ts).
 */
import { MidwatchError } from "../core/errors.ts";
import { uuidv7 } from "../core/ids.ts";
import { iso, monoMs } from "../core/time.ts";
import { isGone, type Somebody } from "../process/identity.ts";
import type { Engine } from "./engine.ts";
import type { JournalEvent } from "./event.ts";
import { ELECTION, LEADER, type TermMark, termKey } from "./term.ts";

const LEADS_FOR = 0.8;
/** A lease of somebody else is waited for this long at the most, whatever it says. */
const TTL_MAX_MS = 600_000;

export interface LeaseValue {
  v: 1;
  holder: string;
  term: number;
  ttl_ms: number;
  /** Since when it leads. */
  since: string;
  /** For a look from outside; no decision is made from it. */
  renewed_mono_ms: number;
  process: Somebody | null;
  resigned: boolean;
}

/** Points of a lease; tests stop a process at each of them. */
export type LeaseStep = "read" | "taken" | "marked" | "elected" | "renewing" | "renewed" | "appending" | "resigning";

export interface LeaseOptions {
  holder: string;
  process: Somebody | null;
  ttlMs: number;
  role?: string;
  /** Whom its election names; the holder. */
  actor?: string;
  clock?: { monoMs(): number; wallMs(): number };
  isGone?(process: Somebody): boolean;
  newId?(): string;
  onStep?(step: LeaseStep): void;
}

interface Held {
  term: number;
  since: string;
  election: string;
  elected: boolean;
  sent: { mono: number; wall: number };
}

export class Lease {
  readonly key: string;
  readonly #engine: Engine;
  readonly #options: Required<Omit<LeaseOptions, "onStep">> & Pick<LeaseOptions, "onStep">;
  #other: string | undefined;
  #held: Held | undefined;
  #seen: { what: string; mono: number } | undefined;

  constructor(engine: Engine, options: LeaseOptions) {
    this.#engine = engine;
    const clock = { monoMs, wallMs: () => Date.now() };
    this.#options = { role: LEADER, actor: options.holder, clock, isGone, newId: uuidv7, ...options };
    this.key = `leases/${this.#options.role}`;
  }

  /** The term in which we lead now; undefined when we do not, or can no longer be sure of it. */
  get term(): number | undefined {
    const held = this.#held;
    if (held?.elected !== true) return undefined;
    const { mono, wall } = this.#now();
    const least = LEADS_FOR * this.#options.ttlMs;
    return mono - held.sent.mono < least && wall - held.sent.wall < least ? held.term : undefined;
  }

  /** Who had the lease when we looked last and did not get it. */
  get other(): string | undefined {
    return this.#other;
  }

  /** One look, and what follows from it: renew, take over, or stand by. To be called again soon, and never twice at once. */
  async step(): Promise<void> {
    const found = await this.#engine.get<LeaseValue | null>(this.key);
    this.#at("read");
    const { value, rev } = { value: found?.value ?? undefined, rev: found?.rev ?? 0 };
    this.#other = undefined;
    if (this.#held !== undefined && value?.holder === this.#options.holder && value.term === this.#held.term)
      return await this.#renew(this.#held, rev);
    this.#held = undefined;
    if (this.#isFree(rev, value)) await this.#take(rev, value?.term ?? 0);
    else this.#other = value?.holder;
  }

  /** Gives the lease back, so that nobody has to wait for its end. */
  async resign(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    this.#at("resigning");
    const found = await this.#engine.get<LeaseValue | null>(this.key);
    if (found?.value?.holder === this.#options.holder)
      await this.#engine.set(this.key, { ...found.value, resigned: true }, found.rev);
  }

  /** Appends as the leader; false when we do not lead. Should we be deposed meanwhile, nobody will see these lines. */
  async append(events: readonly JournalEvent[]): Promise<boolean> {
    const { term } = this;
    if (term === undefined) return false;
    this.#at("appending");
    const { role } = this.#options;
    try {
      await this.#engine.append(events.map((event) => ({ ...event, term, ...(role === LEADER ? {} : { role }) })));
      return true;
    } catch (error) {
      // An engine that knows the elections refuses at once what others leave to its readers.
      if (!(error instanceof MidwatchError && error.code === "REFUSED_TERM")) throw error;
      this.#held = undefined;
      return false;
    }
  }

  #isFree(rev: number, value: LeaseValue | undefined): boolean {
    if (value === undefined || typeof value.holder !== "string" || value.resigned) return true;
    // Our own, of which we did not hear that we got it.
    if (value.holder === this.#options.holder) return true;
    if (value.process && this.#options.isGone(value.process)) return true;
    const { mono } = this.#now();
    const what = `${rev} ${value.holder}`;
    if (this.#seen?.what !== what) this.#seen = { what, mono };
    const ttl = value.ttl_ms > 0 && value.ttl_ms <= TTL_MAX_MS ? value.ttl_ms : this.#options.ttlMs;
    return mono - this.#seen.mono >= ttl;
  }

  async #take(rev: number, before: number): Promise<void> {
    const term = 1 + Math.max(Number.isSafeInteger(before) ? before : 0, await this.#highestMark());
    const sent = this.#now();
    const held: Held = { term, sent, since: iso(sent.wall), election: this.#options.newId(), elected: false };
    if ((await this.#engine.set(this.key, this.#value(held), rev)) === undefined) return;
    this.#held = held;
    this.#at("taken");
    await this.#elect(held);
  }

  async #renew(held: Held, rev: number): Promise<void> {
    const sent = this.#now();
    if (held.elected && sent.mono - held.sent.mono < this.#options.ttlMs / 4 && this.term !== undefined) return;
    this.#at("renewing");
    if ((await this.#engine.set(this.key, this.#value({ ...held, sent }), rev)) === undefined) {
      this.#held = undefined;
      return;
    }
    held.sent = sent;
    this.#at("renewed");
    if (!held.elected) await this.#elect(held);
  }

  /** May be done again after an error: the same mark and the same event, each taking effect once. */
  async #elect(held: Held): Promise<void> {
    const { actor, role } = this.#options;
    const key = termKey(role, held.term);
    const mark: TermMark = { event: held.election };
    if ((await this.#engine.set(key, mark, 0)) === undefined) {
      const kept = await this.#engine.get<TermMark | null>(key);
      if (kept?.value?.event !== held.election) {
        this.#held = undefined; // The term is somebody else's: next time we take a higher one.
        return;
      }
    }
    this.#at("marked");
    await this.#engine.append([
      {
        v: 1,
        id: held.election,
        interaction: 0,
        actor,
        type: ELECTION,
        content: `${actor} leads (term ${held.term})`,
        timestamp: held.since,
        term: held.term,
        ...(role === LEADER ? {} : { role }),
      },
    ]);
    this.#at("elected");
    held.elected = true;
  }

  /** The register may have been lost while the marks were kept; a term is never given twice. */
  async #highestMark(): Promise<number> {
    const prefix = termKey(this.#options.role, 0).slice(0, -1);
    const terms = (await this.#engine.keys(prefix)).map((key) => Number(key.slice(prefix.length)));
    return terms.filter(Number.isSafeInteger).reduce((most, term) => Math.max(most, term), 0);
  }

  #value({ term, since, sent }: Held): LeaseValue {
    const { holder, ttlMs, process } = this.#options;
    return { v: 1, holder, term, ttl_ms: ttlMs, since, renewed_mono_ms: sent.mono, process, resigned: false };
  }

  #now(): { mono: number; wall: number } {
    const { clock } = this.#options;
    return { mono: clock.monoMs(), wall: clock.wallMs() };
  }

  #at(step: LeaseStep): void {
    this.#options.onStep?.(step);
  }
}
