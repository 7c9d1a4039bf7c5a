/**
 * Messages to people about events, at least once each. A round takes what is new in the journal into the queues and keeps that; each
 * route then sends what is due beside the rounds and beside the others, so a receiver that hangs delays nobody. A message is marked as
 * sent before it is, and taken out of its queue when it arrived: whoever is killed in between is followed by one who sends it
 * again, under the same id.
 *
 * What goes wrong here becomes no event, or a failing alert would bring the next one: it is told to the person at the terminal, and is
 * in the state (`midwatch alert status`, `midwatch health`) and in the file of dead letters.
 */
import { MidwatchError } from "../core/errors.ts";
import { iso, monoMs } from "../core/time.ts";
import type { Cursor, EventLog, Registers } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { isLeadersBeat } from "../journal/term.ts";
import type { Alert } from "./message.ts";
import { Queue, type QueuedAlert, rebase, TIMING, type Timing } from "./queue.ts";
import { routesFor, troubleIn } from "./rules.ts";
import { type Outside, type Sent, send } from "./send.ts";
import type { Route, Settings } from "./settings.ts";
import { type AlertState, arrived, keepState, newRouteState, type RouteState, readState } from "./state.ts";

/** Points of a message's way, in order; tests kill a process at each of them. */
export type AlertStep = "taken" | "marked" | "sent" | "kept";

export interface DeadLetter {
  v: 1;
  at: string;
  route: string;
  error: string;
  tries: number;
  alert: Alert;
}

export interface AlertOptions {
  journal: EventLog;
  registers: Registers;
  settings: Settings;
  /** What leaves of an event. */
  make(event: JournalEvent): Alert;
  /** Keeps it for good; throws when it cannot. */
  bury(letter: DeadLetter): void;
  outside: Omit<Outside, "signal">;
  bootId: string;
  timing?: Timing;
  now?: () => number;
  onStep?: ((step: AlertStep) => void) | undefined;
}

const IDS_KEPT = 64;
/** Without news the place is kept this seldom: reading a part again costs less than writing. */
const KEEP_MS = 30_000;

export class Alerts {
  readonly #options: AlertOptions;
  readonly #timing: Timing;
  readonly #now: () => number;
  readonly #ending = new AbortController();
  readonly #running = new Map<string, Promise<void>>();
  #state: AlertState | undefined;
  #rev = 0;
  #keptAt = 0;
  /** The place that was kept last; undefined when nothing was. */
  #keptAfter: Cursor | null | undefined;
  #saving: Promise<unknown> = Promise.resolve();
  #trouble = false;
  #fault: { error: unknown } | undefined;

  constructor(options: AlertOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.#now = options.now ?? monoMs;
  }

  /** Takes what is new, and has the routes send what is due. Returns before they have. */
  async round(): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault.error;
    try {
      this.#state ??= await this.#load();
      const news = await this.#take(this.#state);
      if (news || this.#shouldKeep(this.#state)) await this.#save();
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      this.#tellTrouble(error);
    }
    for (const route of this.#options.settings.routes) this.#start(route);
  }

  /** Until nothing is being sent. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.idle();
  }

  async #load(): Promise<AlertState> {
    const { journal, registers, bootId, settings } = this.#options;
    const now = this.#now();
    const { state: kept, rev } = await readState(registers);
    this.#rev = rev;
    // The first time: what happened before there were alerts is no news.
    const end = kept === undefined ? ((await journal.tail(0)) ?? null) : null;
    const state = kept ?? { v: 1, boot_id: bootId, after: end, ids: [], routes: {} };
    if (state.after !== null && !(await journal.holds(state.after))) state.after = null; // Another journal.
    if (state.boot_id !== bootId) for (const { queue } of Object.values(state.routes)) rebase(queue, this.#timing, now);
    state.boot_id = bootId;
    this.#dropUnknown(state);
    for (const { name } of settings.routes) state.routes[name] ??= newRouteState(this.#timing, now);
    this.#keptAfter = undefined;
    return state;
  }

  /** At once where we began, so that whoever is killed next begins no later; then now and then. */
  #shouldKeep({ after }: AlertState): boolean {
    if (this.#keptAfter === undefined) return true;
    return after !== this.#keptAfter && this.#now() - this.#keptAt > KEEP_MS;
  }

  /** A route that is no longer in the configuration: nobody will send what waits there. */
  #dropUnknown(state: AlertState): void {
    const names = new Set(this.#options.settings.routes.map(({ name }) => name));
    for (const [name, { queue }] of Object.entries(state.routes)) {
      if (names.has(name)) continue;
      for (const entry of queue.waiting) this.#bury(name, entry, "nobody sends on this route any more");
      delete state.routes[name];
    }
  }

  /** True when something has to be kept. */
  async #take(state: AlertState): Promise<boolean> {
    const { journal, settings, make, onStep } = this.#options;
    const now = this.#now();
    let news = false;
    for await (const item of journal.read({ after: state.after ?? undefined, signal: this.#ending.signal })) {
      const wanted = "event" in item && !isLeadersBeat(item.event) && !state.ids.includes(item.event.id);
      const routes = wanted ? routesFor(item.event, settings.rules) : new Set<string>();
      // The place and what was taken change in one go: it may be kept by a route that has just sent something.
      state.after = item.next;
      const trouble = wanted ? troubleIn(item.event) : null;
      if (trouble?.state === null)
        for (const [name, route] of Object.entries(state.routes)) {
          const healed = this.#queue(route).heal(trouble.agent);
          if (healed !== null) news = true;
          // Who was told of a trouble is told that it is over.
          if (healed === "told" && "event" in item && item.event.type === "verdict.changed") routes.add(name);
        }
      if (!wanted || routes.size === 0) continue;
      const alert = make(item.event);
      for (const name of routes) this.#queue(state.routes[name] as RouteState).add({ ...alert }, now, trouble);
      state.ids = [...state.ids, item.event.id].slice(-IDS_KEPT);
      news = true;
    }
    for (const route of Object.values(state.routes)) if (this.#queue(route).closeWindows(now)) news = true;
    if (news) onStep?.("taken");
    return news;
  }

  #start(route: Route): void {
    if (this.#running.has(route.name) || this.#ending.signal.aborted) return;
    const running = this.#sendDue(route)
      .catch((error: unknown) => {
        this.#fault ??= { error };
      })
      .finally(() => this.#running.delete(route.name));
    this.#running.set(route.name, running);
  }

  async #sendDue(route: Route): Promise<void> {
    const { outside, onStep } = this.#options;
    const { signal } = this.#ending;
    for (;;) {
      const state = this.#state;
      const kept = state?.routes[route.name];
      const entry = kept && this.#queue(kept).take(this.#now());
      if (kept === undefined || entry === undefined) return;
      if (!(await this.#save())) return;
      onStep?.("marked");
      const { off } = kept;
      const sent: Sent =
        off === null ? await send(route, entry.alert, { ...outside, signal }) : { state: "off", error: off };
      onStep?.("sent");
      // Somebody else has the queue by now, or it was cut short: whoever goes on sends it again.
      if (this.#state !== state || (signal.aborted && sent.state !== "delivered")) return;
      this.#settle(route, kept, entry, sent);
      if (!(await this.#save())) return;
      onStep?.("kept");
    }
  }

  #settle({ name }: Route, route: RouteState, entry: QueuedAlert, sent: Sent): void {
    const { tell } = this.#options.outside;
    const queue = this.#queue(route);
    if (sent.state === "delivered") {
      queue.delivered(entry);
      if (route.failing !== null) tell(`Alerts arrive at the route ${name} again.`);
      arrived(route);
      return;
    }
    if (route.failing === null) tell(`An alert did not arrive at the route ${name}: ${sent.error}.`);
    route.failing = { since: route.failing?.since ?? iso(), error: sent.error };
    if (sent.state === "off" && route.off === null) {
      route.off = sent.error;
      tell(`The route ${name} is off until \`midwatch alert test ${name}\` arrives there.`);
    }
    const failure =
      sent.state === "again" ? { again: true as const, afterMs: sent.afterMs } : { again: false as const };
    if (!queue.failed(entry, failure, this.#now())) return;
    this.#bury(name, entry, sent.error);
    queue.delivered(entry);
    route.dead++;
  }

  #bury(route: string, { alert, tries }: QueuedAlert, error: string): void {
    try {
      this.#options.bury({ v: 1, at: iso(), route, error, tries, alert });
    } catch (thrown) {
      this.#tellTrouble(thrown);
    }
  }

  /**
   * False when another process has changed it: what we hold is void then. A disk that cannot be written keeps nobody from sending;
   * a message may only arrive twice then.
   */
  #save(): Promise<boolean> {
    const saved = this.#saving.then(async () => {
      const state = this.#state;
      if (state === undefined) return false;
      try {
        const rev = await keepState(this.#options.registers, { state, rev: this.#rev });
        this.#trouble = false;
        this.#keptAt = this.#now();
        this.#keptAfter = state.after;
        if (rev !== undefined) this.#rev = rev;
        else this.#state = undefined;
        return rev !== undefined;
      } catch (error) {
        this.#tellTrouble(error);
        if (!(error instanceof MidwatchError && error.code === "OUTCOME_UNKNOWN")) return true;
        this.#state = undefined;
        return false;
      }
    });
    this.#saving = saved;
    return saved;
  }

  /** Once for a row of them. */
  #tellTrouble(error: unknown): void {
    if (!(error instanceof MidwatchError)) throw error;
    if (!this.#trouble) this.#options.outside.tell(`Alerts cannot be kept: ${error.message}`);
    this.#trouble = true;
  }

  #queue({ queue }: RouteState): Queue {
    return new Queue(queue, this.#timing);
  }
}
