/**
 * A world in which time is a number and all chance comes from a seed: processes with clocks of their own that stand still, sleep with
 * the machine, die and start anew, and an engine whose requests and answers are late, lost or doubled. The same seed gives the
 * same history, so a failure can be looked at again.
 */
import type {
  BadLine,
  Cursor,
  Engine,
  EngineHealth,
  ReadOptions,
  Register,
  Stored,
} from "../../../src/journal/engine.ts";
import type { JournalEvent } from "../../../src/journal/event.ts";
import { MemoryEngine, type MemoryStore } from "./memory-engine.ts";
import { random } from "./random.ts";

interface Waiting {
  time: number;
  order: number;
  wake(): void;
}

export class World {
  now = 0;
  readonly next: () => number;
  readonly #heap: Waiting[] = [];
  #order = 0;

  constructor(seed: number) {
    this.next = random(seed);
  }

  chance(p: number): boolean {
    return this.next() < p;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** Resolves when the world's time has come so far. */
  until(time: number): Promise<void> {
    return new Promise((wake) => this.#push({ time: Math.max(time, this.now), order: this.#order++, wake }));
  }

  sleep(ms: number): Promise<void> {
    return this.until(this.now + ms);
  }

  /** Lets time pass, one waiting one after another; `look` is called between. */
  async run(end: number, look: () => void): Promise<void> {
    for (let one = this.#pop(end); one !== undefined; one = this.#pop(end)) {
      this.now = one.time;
      one.wake();
      await new Promise((resolve) => setImmediate(resolve)); // All that follows at once has happened.
      look();
    }
    this.now = end;
  }

  #push(one: Waiting): void {
    const heap = this.#heap;
    let i = heap.push(one) - 1;
    for (let up = (i - 1) >> 1; i > 0 && before(one, heap[up] as Waiting); up = (i - 1) >> 1) {
      heap[i] = heap[up] as Waiting;
      i = up;
    }
    heap[i] = one;
  }

  #pop(end: number): Waiting | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.time > end) return undefined;
    const last = heap.pop() as Waiting;
    if (heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child + 1 < heap.length && before(heap[child + 1] as Waiting, heap[child] as Waiting)) child++;
      if (child >= heap.length || !before(heap[child] as Waiting, last)) break;
      heap[i] = heap[child] as Waiting;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function before(a: Waiting, b: Waiting): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

/** One life of a process. Its monotonic clock runs a little wrong; its wall clock may be set at any time. */
export class Life {
  readonly pid: number;
  alive = true;
  #pausedUntil = 0;
  #slept = 0;
  #wall = 0;
  readonly #world: World;
  readonly #rate: number;
  readonly #zero: number;

  constructor(world: World, pid: number) {
    this.#world = world;
    this.pid = pid;
    this.#rate = world.between(0.95, 1.05);
    this.#zero = world.between(0, 1e6);
  }

  readonly clock = {
    monoMs: (): number => this.#zero + (this.#world.now - this.#slept) * this.#rate,
    wallMs: (): number => 1.7e12 + this.#world.now + this.#wall,
  };

  get stands(): boolean {
    return this.#world.now < this.#pausedUntil;
  }

  /** SIGSTOP: all of it stands still, its clocks go on. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#world.now + ms);
  }

  /** The machine sleeps: the monotonic clock stands still too. */
  suspend(ms: number): void {
    this.pause(ms);
    this.#slept += ms;
  }

  setClock(jumpMs: number): void {
    this.#wall += jumpMs;
  }

  /** Goes on when this process runs; never when it is dead. */
  async turn(): Promise<void> {
    while (this.alive && this.stands) await this.#world.until(this.#pausedUntil);
    if (!this.alive) await new Promise(() => undefined);
  }
}

export interface Troubles {
  /** How often, from 0 to 1. */
  lost: number;
  doubled: number;
  /** The longest way of a request or an answer, in ms. */
  delayMs: number;
}

/** What a process sees of the store. A request may stand still with its process before it takes effect: that is the worst case. */
export class FaultyEngine implements Engine {
  readonly #inner: MemoryEngine;
  readonly #world: World;
  readonly #life: Life;
  readonly #troubles: Troubles;

  constructor(store: MemoryStore, world: World, life: Life, troubles: Troubles) {
    this.#inner = new MemoryEngine(store);
    this.#world = world;
    this.#life = life;
    this.#troubles = troubles;
  }

  async #call<T>(effect: () => Promise<T>, mayDouble = false): Promise<T> {
    const way = (): Promise<void> => this.#world.sleep(this.#world.next() ** 3 * this.#troubles.delayMs);
    await way();
    await this.#life.turn();
    if (this.#world.chance(this.#troubles.lost)) throw new Error("the request was lost");
    const result = await effect();
    if (mayDouble && this.#world.chance(this.#troubles.doubled)) void way().then(effect);
    await way();
    await this.#life.turn();
    if (this.#world.chance(this.#troubles.lost)) throw new Error("the answer was lost");
    return result;
  }

  append(events: readonly JournalEvent[]): Promise<void> {
    return this.#call(() => this.#inner.append(events), true);
  }

  async *read(options: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    const items: (Stored | BadLine)[] = await this.#call(async () => {
      const found: (Stored | BadLine)[] = [];
      for await (const item of this.#inner.read({ after: options.after })) found.push(item);
      return found;
    });
    yield* items;
  }

  tail(lines: number): Promise<Cursor | undefined> {
    return this.#call(() => this.#inner.tail(lines));
  }

  holds(cursor: Cursor): Promise<boolean> {
    return this.#call(() => this.#inner.holds(cursor));
  }

  get<T>(key: string): Promise<Register<T> | undefined> {
    return this.#call(() => this.#inner.get<T>(key));
  }

  set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    return this.#call(() => this.#inner.set(key, value, rev), true);
  }

  keys(prefix: string): Promise<string[]> {
    return this.#call(() => this.#inner.keys(prefix));
  }

  health(): Promise<EngineHealth> {
    return this.#inner.health();
  }

  async close(): Promise<void> {}
}
