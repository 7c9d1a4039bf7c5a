/** The streams that a process reads on with: one state a run, whoever asks. */
import type { IntentFact } from "../core/intent.ts";
import type { RunResult } from "../core/types.ts";
import type { Aside, Driver, SessionUse } from "../drivers/driver.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { runNumbers } from "../facts/run-numbers.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { AsideFiles } from "./aside-files.ts";
import { RunLog } from "./run-log.ts";
import { type Counted, type StreamListener, type StreamPlace, StreamState } from "./stream-state.ts";

export interface StreamOf extends RunName {
  facts: Facts;
}

/** Who listens from the first line on, and where another process has read to. */
export interface Beginning {
  listener?: StreamListener | undefined;
  from?: { place: StreamPlace; counted: Counted } | undefined;
}

export class Streams {
  readonly #context: Context;
  readonly #begin: (of: StreamOf, driver: Driver) => Beginning;
  readonly #states = new Map<string, StreamState>();
  readonly #held = new Set<string>();

  constructor(context: Context, begin: (of: StreamOf, driver: Driver) => Beginning = () => ({})) {
    this.#context = context;
    this.#begin = begin;
  }

  async of(one: StreamOf): Promise<StreamState> {
    const driver = await findDriver(this.#context, one.facts.intent?.driver ?? "command");
    const known = this.#states.get(keyOf(one));
    if (known !== undefined) return known;
    const { listener, from } = this.#begin(one, driver);
    const state = openStream(this.#context, one, driver, listener);
    if (from !== undefined) state.takeUp(from.place, from.counted);
    this.#states.set(keyOf(one), state);
    return state;
  }

  /** As far as a living run's log goes now. */
  async read(one: StreamOf): Promise<StreamState> {
    const state = await this.of(one);
    await state.readOn(true);
    return state;
  }

  forget(one: RunName): void {
    this.#states.delete(keyOf(one));
  }

  /** What was read of it so far, if anybody here reads it. */
  known(one: Pick<RunName, "agent" | "run">): StreamState | undefined {
    return this.#states.get(keyOf(one));
  }

  /** Forgets the others, except for those that are held. */
  keep(runs: readonly RunName[]): void {
    const keys = new Set(runs.map(keyOf));
    for (const key of this.#states.keys()) if (!keys.has(key) && !this.#held.has(key)) this.#states.delete(key);
  }

  /** Somebody reads on in it whom those that call `keep` need not know of. */
  hold(one: RunName): void {
    this.#held.add(keyOf(one));
  }

  release(one: RunName): void {
    this.#held.delete(keyOf(one));
  }
}

/** Nothing is read yet. */
export function openStream(context: Context, one: StreamOf, driver: Driver, listener?: StreamListener): StreamState {
  const log = new RunLog(context, { ...one, json: driver.json });
  const before = sessionBefore(context, one);
  const { intent } = one.facts;
  const aside = driver.aside && intent?.sessions && asideOf(driver.aside, intent, intent.sessions, before);
  return new StreamState(log, { driver, before, listener, aside: aside || undefined });
}

function asideOf(aside: Aside, intent: IntentFact, folder: string, before: SessionUse | null): AsideFiles {
  const { cwd } = intent;
  return new AsideFiles(aside, { sinceMs: Date.parse(intent.created_at), cwd, before, folder });
}

/** What the CLI had counted for the session when this run began: what the last run of the same session told at its end. */
export function sessionBefore(
  context: Context,
  { task, agent, run, facts: { intent } }: StreamOf,
): RunResult["session_use"] {
  if (!intent?.resume) return null;
  for (const number of runNumbers(context, { task, agent }).reverse()) {
    if (number >= run) continue;
    const before = readFacts(context.layout.run(task, agent, number)).cleanup?.result;
    if (before?.session_use && before.session === intent.session) return before.session_use;
  }
  return null;
}

export function keyOf({ agent, run }: Pick<RunName, "agent" | "run">): string {
  return `${agent}.${run}`;
}
