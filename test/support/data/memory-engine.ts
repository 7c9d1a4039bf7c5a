/** An engine in memory: what an engine has to do, in its shortest form. Several handles may share one store. */
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

export class MemoryStore {
  readonly lines: JournalEvent[] = [];
  readonly registers = new Map<string, Register>();
}

export class MemoryEngine implements Engine {
  readonly #store: MemoryStore;

  constructor(store: MemoryStore = new MemoryStore()) {
    this.#store = store;
  }

  async append(events: readonly JournalEvent[]): Promise<void> {
    this.#store.lines.push(...events.map((event) => structuredClone(event)));
  }

  async *read(options: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    const { lines } = this.#store;
    const seen = new Set<string>();
    for (let i = 0; !options.signal?.aborted; ) {
      for (; i < lines.length; i++) {
        const event = lines[i] as JournalEvent;
        if (!seen.has(event.id) && i >= Number(options.after ?? 0)) yield { event, next: String(i + 1), seq: i };
        seen.add(event.id);
      }
      if (!options.follow) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async tail(lines: number): Promise<Cursor | undefined> {
    const from = this.#store.lines.length - lines;
    return from <= 0 ? undefined : String(from);
  }

  async holds(cursor: Cursor): Promise<boolean> {
    return Number(cursor) <= this.#store.lines.length;
  }

  async get<T>(key: string): Promise<Register<T> | undefined> {
    return structuredClone(this.#store.registers.get(key)) as Register<T> | undefined;
  }

  async set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    const now = this.#store.registers.get(key)?.rev ?? 0;
    if (now !== rev) return undefined;
    this.#store.registers.set(key, { value: structuredClone(value), rev: rev + 1 });
    return rev + 1;
  }

  async keys(prefix: string): Promise<string[]> {
    return [...this.#store.registers.keys()].filter((key) => key.startsWith(prefix));
  }

  async health(): Promise<EngineHealth> {
    return { engine: "memory", durable: false, problems: [] };
  }

  async close(): Promise<void> {}
}
