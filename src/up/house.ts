/**
 * What `midwatch up` does. Only the leader does rounds; the others stand by and follow it at once when it ends, and after the time of
 * its lease when it hangs. While `midwatch lead` leads, which does none, whoever has the place of those who watch does them. Rounds do no harm when two overlap for a moment: each part does its work once.
 */
import type { Alerts } from "../alert/alerts.ts";
import type { Observed } from "../facts/observe.ts";
import { keepHealth } from "../journal/health.ts";
import { isHoused, Leader, leadership } from "../journal/leader.ts";
import { snapshotRounds } from "../messages/journal.ts";
import { watchRounds } from "../watch/watch-rounds.ts";
import { anyAgentLives } from "../workspace/companion.ts";
import type { Context } from "../workspace/context.ts";
import { openAlerts } from "./alerts.ts";
import { Loop, type Round } from "./loop.ts";
import { WatchPlace } from "./watch-place.ts";

const ROUND_MS = 1000;
/** While no agent does anything. */
const QUIET_ROUND_MS = 3000;
/** It goes soon after the last run that needs it. */
const QUIET_COMPANION_MS = 1500;
const KEEP_HEALTH_ROUNDS = 30;

/** How to keep house. */
export interface HouseOptions {
  signal: AbortSignal;
  /** One round and no leading, unless somebody else leads and so does them. */
  once?: boolean;
  /** For a person, beside the records. */
  tell(text: string): void;
  /** A person looks at it: without a configuration of alerts it rings. */
  terminal?: boolean;
  /** As the companion: without sync and the fleet, which only `up` does. Told of what each round has found. */
  companion?: (observed: readonly Observed[]) => void;
}

/** What a round did. */
export interface HouseRecord extends Round {
  /** The term in which this process leads; null while it stands by. */
  term: number | null;
}

const NOTHING: Round = { started: 0, stopped: [], archived: 0, trashed: 0, deleted: 0, problem: null };

function didSomething({ started, stopped, archived, trashed, deleted, problem }: Round): boolean {
  return started + stopped.length + archived + trashed + deleted > 0 || problem !== null;
}

export async function* keepHouse(context: Context, options: HouseOptions): AsyncGenerator<HouseRecord> {
  const { signal, tell, terminal = false } = options;
  const alerts = openAlerts(context, { terminal, tell });
  if (options.once) return yield* once(context, options, alerts);
  const alerting = new Beside(async () => alerts?.round());
  const rendering = new Beside(snapshotRounds(context));
  const outward = options.companion === undefined ? await outwardRounds(context, options) : undefined;
  const place = options.companion === undefined ? new WatchPlace(context, tell) : undefined;
  using watch = watchRounds(context, options.tell);
  const loop = new Loop(context, { streams: watch.streams });
  const round = async (): Promise<Round> => {
    alerting.start(); // First: a round that fails is what people want to be told of.
    const done = await loop.round();
    await watch.next(loop.observed);
    rendering.start();
    outward?.start();
    options.companion?.(loop.observed);
    return done;
  };
  const { leader_ttl: ttlMs, pause } = context.config;
  const leader = new Leader(context.engine, {
    kind: place === undefined ? "companion" : "up",
    ttlMs,
    pause,
    tell,
    signal,
    heard: () => anyAgentLives(context),
  });
  // Limits are kept whoever leads: an agent that does (`midwatch lead`) must not get rid of its own.
  const may = (): boolean => leader.term !== undefined || (leader.isLedOnly && (place?.isTaken ?? true));
  const quietMs = place === undefined ? QUIET_COMPANION_MS : QUIET_ROUND_MS;
  let shown: number | null | undefined;
  for (const fast of [loop.money, loop.budgets]) fast.start(may);
  try {
    await place?.take(); // Before the first look: then nobody else leads.
    await leader.wait(ROUND_MS); // The first look tells whether we lead.
    for (let n = 0; !signal.aborted; await leader.wait(loop.isQuiet ? quietMs : ROUND_MS)) {
      await place?.take();
      const term = leader.term ?? null;
      if (term !== shown) yield { ...NOTHING, term };
      shown = term;
      if (!may()) continue;
      const done = await leader.pause.persist("A round", () => (may() ? round() : undefined));
      if (done !== undefined && didSomething(done)) yield { ...done, term };
      if (n++ % KEEP_HEALTH_ROUNDS === 0) await leader.pause.persist("Health", () => keepHealth(context.engine, ttlMs));
    }
  } catch (error) {
    if (!signal.aborted) throw error; // Paused work ends with its error, which was told.
  } finally {
    await loop.money.close();
    await loop.budgets.close();
    await alerts?.close();
    await Promise.all([alerting.ended(), rendering.ended(), outward?.close()]);
    await leader.close();
    await place?.handBack(loop.observed);
  }
}

/** To other machines: loaded by those who do it. */
async function outwardRounds(
  context: Context,
  options: HouseOptions,
): Promise<{ start(): void; close(): Promise<void> }> {
  const [{ joinRounds }, { syncRounds }] = await Promise.all([import("./join.ts"), import("./sync.ts")]);
  const joined = joinRounds(context, options);
  const beside = [new Beside(syncRounds(context, options)), new Beside(joined.round)];
  return {
    start() {
      for (const one of beside) one.start();
    },
    async close() {
      await Promise.all(beside.map((one) => one.ended()));
      await joined.close();
    },
  };
}

/** Work beside the rounds: it may have to wait for a process that stands still, and they must not. */
class Beside {
  readonly #act: () => Promise<void>;
  #running: Promise<void> | undefined;
  #failed: { error: unknown } | undefined;

  constructor(act: () => Promise<void>) {
    this.#act = act;
  }

  /** Begins it unless it is under way. Throws what the last time threw. */
  start(): void {
    if (this.#failed !== undefined) throw this.#failed.error;
    this.#running ??= this.#act()
      .catch((error: unknown) => {
        this.#failed = { error };
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async ended(): Promise<void> {
    await this.#running;
  }
}

async function* once(context: Context, options: HouseOptions, alerts: Alerts | undefined): AsyncGenerator<HouseRecord> {
  const leader = await leadership(context.engine);
  if (isHoused(leader)) options.tell(`${leader.holder} leads and does the rounds.`);
  else {
    const done = await new Loop(context).round();
    await (await import("./sync.ts")).syncRounds(context, options)();
    await snapshotRounds(context)();
    await alerts?.round();
    await alerts?.idle();
    if (didSomething(done)) yield { ...done, term: null };
  }
}
