/**
 * Leaders, their events, a consumer and a projector in a simulated world (test/support/data/simulation.ts), one seed after another. What has to hold:
 * nobody sees an event of a leader that was followed, each term has one holder, two never take themselves for the leader at once,
 * forged lines change nothing, a leader is found again when the troubles end, the consumer gets all that counts, in order, and a view
 * that is kept up to date by a process that dies again and again is the one that a rebuild gives.
 */
import type { Checkpoint } from "../../src/journal/checkpoint.ts";
import { consume } from "../../src/journal/consume.ts";
import type { JournalEvent } from "../../src/journal/event.ts";
import { Lease, type LeaseValue } from "../../src/journal/lease.ts";
import { emptyProjection, fold, type Projection } from "../../src/journal/snapshot/project.ts";
import { fenced } from "../../src/journal/term.ts";
import { MemoryStore } from "../support/data/memory-engine.ts";
import { FaultyEngine, Life, type Troubles, World } from "../support/data/simulation.ts";
import { campaign, type Report, rounds } from "./report.ts";

const TTL = 1000;
const TROUBLE_MS = 14 * TTL;
const QUIET_MS = 6 * TTL;
const HOUR = 3_600_000;
const KEEP = 3;

interface Player {
  life: Life;
  lease: Lease;
}

interface Counts {
  terms: number;
  visible: number;
  voided: number;
  again: number;
}

export function leaseSimulation(count: number, seed = 1): Promise<Report> {
  return campaign("lease, consumer and projector, simulated", count, seed, async (fail, figures) => {
    const totals: Counts = { terms: 0, visible: 0, voided: 0, again: 0 };
    let histories = 0;
    for (const i of rounds(count)) {
      histories++;
      const one = await simulate(seed + i, (what) => fail(`seed ${seed + i}: ${what}`));
      for (const key of Object.keys(totals) as (keyof Counts)[]) totals[key] += one[key];
    }
    Object.assign(figures, {
      histories,
      terms: totals.terms,
      "events that count": totals.visible,
      "stale or forged, seen by nobody": totals.voided,
      "handled again after a crash": totals.again,
    });
  });
}

async function simulate(seed: number, fail: (what: string) => void): Promise<Counts> {
  const world = new World(seed);
  const store = new MemoryStore();
  const troubles: Troubles = {
    lost: world.next() * 0.05,
    doubled: world.next() * 0.1,
    delayMs: world.between(1, 0.3 * TTL),
  };
  const sleeps = world.chance(0.3);
  const players: Player[] = [];
  const holders = new Map<number, string>();
  let pids = 0;

  const begin = (): Player => {
    const life = new Life(world, ++pids);
    const engine = new FaultyEngine(store, world, life, troubles);
    const lease = new Lease(engine, {
      holder: `p${life.pid}`,
      process: { pid: life.pid, start_ticks: 1, boot_id: "b", pid_ns: "n" },
      ttlMs: TTL,
      clock: life.clock,
      isGone: ({ pid }) => !players.some((one) => one.life.pid === pid && one.life.alive),
      newId: ids(world, `election-${life.pid}`),
    });
    void play(world, life, lease);
    return { life, lease };
  };
  for (let n = 2 + Math.floor(world.next() * 4); n > 0; n--) players.push(begin());
  void mischief(world, players, begin, sleeps);
  void forge(world, store);
  const consumer = new Consumer(world, store, troubles);
  const projector = new Projector(world, store, troubles);

  const look = (): void => {
    const value = store.registers.get("leases/leader")?.value as LeaseValue | undefined;
    if (value !== undefined) {
      const known = holders.get(value.term);
      if (known !== undefined && known !== value.holder) fail(`term ${value.term} of ${known} and ${value.holder}`);
      holders.set(value.term, value.holder);
    }
    const leading = players.filter(({ life, lease }) => life.alive && !life.stands && lease.term !== undefined);
    if (leading.length > 1) fail(`at ${world.now}: ${leading.map(({ life }) => life.pid)} lead at once`);
  };
  await world.run(TROUBLE_MS, look);
  troubles.lost = 0;
  troubles.doubled = 0;
  const before = store.lines.length;
  await world.run(TROUBLE_MS + QUIET_MS, look);

  const { visible, voided } = judge(store, holders, fail);
  const late = store.lines.slice(before).filter((event) => visible.includes(event) && event.type === "work");
  if (late.length === 0) fail("nobody leads although the troubles are over");
  consumer.judge(visible, fail);
  projector.judge(visible, fail);
  for (const { life } of players) life.alive = false;
  for (const { life } of [consumer, projector]) life.alive = false;
  return { terms: holders.size, visible: visible.length, voided, again: consumer.again };
}

/** A process that wants to lead, and works while it does. */
async function play(world: World, life: Life, lease: Lease): Promise<void> {
  const id = ids(world, `work-${life.pid}`);
  for (;;) {
    await life.turn();
    try {
      await lease.step();
      if (lease.term !== undefined) await lease.append([event(id(), `p${life.pid}`, "work", undefined, turnOf(world))]);
      if (world.chance(0.01)) await lease.resign();
    } catch {
      // Lost on the way: the next round tries again.
    }
    await world.sleep(world.between(0.05, 0.15) * TTL);
  }
}

/** Stops, sleeps, crashes, starts and clock jumps until the troubles end. */
async function mischief(world: World, players: Player[], begin: () => Player, sleeps: boolean): Promise<void> {
  for (;;) {
    await world.sleep(world.between(0, 0.8) * TTL);
    if (world.now >= TROUBLE_MS - 2 * TTL) return;
    const i = Math.floor(world.next() * players.length);
    const { life } = players[i] as Player;
    const kind = world.next();
    if (kind < 0.4) life.pause(world.between(0, 3) * TTL);
    else if (kind < 0.6) {
      life.alive = false;
      players[i] = begin();
    } else if (kind < 0.8 && sleeps) life.suspend(world.between(0, 3) * TTL);
    // Sleep and a clock that is set back at once cannot be told from no sleep at all.
    else life.setClock((sleeps ? 1 : world.chance(0.5) ? 1 : -1) * (world.chance(0.5) ? HOUR : 24 * HOUR));
  }
}

/** Somebody appends elections and leader's lines by hand. */
async function forge(world: World, store: MemoryStore): Promise<void> {
  const id = ids(world, "forged");
  while (world.now < TROUBLE_MS) {
    await world.sleep(world.between(0, 3) * TTL);
    const term = 1 + Math.floor(world.next() * 40);
    store.lines.push(event(id(), "forger", "leader_election", term), event(id(), "forger", "work", term + 100));
  }
}

/** What counts, by rules written a second time, and what must be true of it. */
function judge(
  store: MemoryStore,
  holders: ReadonlyMap<number, string>,
  fail: (what: string) => void,
): { visible: JournalEvent[]; voided: number } {
  const seen = new Set<string>();
  const visible: JournalEvent[] = [];
  let current = 0;
  for (const one of store.lines) {
    if (seen.has(one.id)) continue;
    seen.add(one.id);
    const mark = store.registers.get(`leases/leader/term-${one.term}`)?.value as { event: string } | undefined;
    const elects = one.type === "leader_election";
    const counts = elects ? (one.term ?? 0) > current && mark?.event === one.id : one.term === current;
    if (!counts) continue;
    if (elects) current = one.term ?? 0;
    if (one.actor !== holders.get(current)) fail(`${one.type} of ${one.actor} in the term ${one.term} of another`);
    visible.push(one);
  }
  return { visible, voided: seen.size - visible.length };
}

/** Reads all the time, dies in the middle of its work, goes on from its checkpoint. */
class Consumer {
  readonly #handled: string[] = [];
  again = 0;
  readonly #world: World;
  #kept: Checkpoint | undefined;
  readonly life: Life;

  constructor(world: World, store: MemoryStore, troubles: Troubles) {
    this.#world = world;
    this.life = new Life(world, 0);
    void this.#go(new FaultyEngine(store, world, this.life, troubles));
  }

  async #go(engine: FaultyEngine): Promise<void> {
    const keep = {
      read: () => this.#kept,
      write: (checkpoint: Checkpoint) => {
        if (this.#world.now < TROUBLE_MS && this.#world.chance(0.02)) throw new Error("killed before the checkpoint");
        this.#kept = structuredClone(checkpoint);
      },
    };
    for (;;) {
      await consume(engine, keep, async ({ id }) => {
        await this.#world.sleep(this.#world.between(0, 5));
        if (this.#world.now < TROUBLE_MS && this.#world.chance(0.02)) throw new Error("killed in mid-work");
        if (this.#handled.includes(id)) this.again++;
        else this.#handled.push(id);
      }).catch(() => undefined);
      await this.#world.sleep(this.#world.between(10, 200));
      if (this.#world.now < TROUBLE_MS && this.#world.chance(0.05)) this.life.pause(this.#world.between(0, 2) * TTL);
      await this.life.turn();
    }
  }

  judge(visible: readonly JournalEvent[], fail: (what: string) => void): void {
    const expected = visible.map(({ id }) => id);
    // The very last lines may still be on their way.
    const got = this.#handled.slice(0, expected.length);
    if (this.#handled.length < expected.length - 30 || this.#handled.length > expected.length)
      fail(`handled ${this.#handled.length} of ${expected.length}`);
    const wrong = got.findIndex((id, i) => id !== expected[i]);
    if (wrong !== -1) fail(`handled ${got[wrong]} where ${expected[wrong]} was next`);
  }
}

/** Keeps a view up to date from where it was saved; dies before it saves, now and then. */
class Projector {
  readonly life: Life;
  readonly #world: World;
  #saved: { projection: Projection; archive: string } = { projection: emptyProjection(KEEP), archive: "" };

  constructor(world: World, store: MemoryStore, troubles: Troubles) {
    this.#world = world;
    this.life = new Life(world, -1);
    void this.#go(new FaultyEngine(store, world, this.life, troubles));
  }

  async #go(engine: FaultyEngine): Promise<void> {
    let log = fenced(engine);
    for (;;) {
      const state = structuredClone(this.#saved);
      try {
        for await (const item of log.read({ after: state.projection.cursor ?? undefined })) {
          if ("event" in item) fold(state.projection, item.event, (text) => (state.archive += text));
          state.projection.cursor = item.next;
        }
        if (this.#world.now < TROUBLE_MS && this.#world.chance(0.1)) throw new Error("killed before it saved");
        this.#saved = state;
      } catch {
        log = fenced(engine); // What it remembered died with it.
      }
      await this.#world.sleep(this.#world.between(10, 300));
      await this.life.turn();
    }
  }

  judge(visible: readonly JournalEvent[], fail: (what: string) => void): void {
    const { projection, archive } = this.#saved;
    const whole = emptyProjection(KEEP);
    let text = "";
    // The very last lines may still be on their way.
    for (const one of visible.slice(0, projection.events)) fold(whole, one, (part) => (text += part));
    if (projection.events < visible.length - 30) fail(`projected ${projection.events} of ${visible.length}`);
    whole.cursor = projection.cursor;
    if (JSON.stringify(whole) !== JSON.stringify(projection) || text !== archive) fail("a rebuild gives another view");
  }
}

/** Interactions go on with time; some lines come late. */
function turnOf(world: World): number {
  return Math.max(1, Math.floor(world.now / TTL) - (world.chance(0.1) ? 4 : 0));
}

function ids(world: World, prefix: string): () => string {
  let n = 0;
  return () => `${prefix}-${++n}-${Math.floor(world.next() * 1e6)}`;
}

function event(id: string, actor: string, type: string, term?: number, interaction = 1): JournalEvent {
  const timestamp = "2026-11-15T19:00:00.000Z";
  return { v: 1, id, interaction, actor, type, content: id, timestamp, ...(term === undefined ? {} : { term }) };
}
