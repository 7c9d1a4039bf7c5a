/**
 * Terms: which of the leaders an event comes from, and whether it still counts.
 *
 * The winner of a lease first keeps a mark `leases/<role>/term-<t>` with the id of its election, and then appends that election to
 * the journal. So whoever reads the election finds the mark, and all readers decide alike. An election without its mark counts for
 * nothing. What a leader appends carries its term and counts while that is the highest proven term before it: a leader that stood
 * still in the middle of a write and wakes behind its successor writes lines that nobody sees. Only its heartbeats count in any case:
 * that it led when it said so stays true, and no reader has to look for elections because of them.
 */
import type { BadLine, Cursor, Engine, EventLog, ReadOptions, Registers, Stored } from "./engine.ts";
import type { JournalEvent } from "./event.ts";

export const LEADER = "leader";
export const ELECTION = "leader_election";
export const HEARTBEAT = "heartbeat";

/** Said by whoever leads, again and again, for those who have nothing but the file. No news: most readers pass over it. */
export function isLeadersBeat({ type, term }: JournalEvent): boolean {
  return type === HEARTBEAT && typeof term === "number";
}

/** What the mark of a term holds. */
export interface TermMark {
  event: string;
}

export function termKey(role: string, term: number): string {
  return `leases/${role}/term-${term}`;
}

/** The highest proven term of each role, as far as a reader has come. Kept beside its cursor as `known`. */
export class Terms {
  readonly #registers: Pick<Registers, "get">;
  readonly #proven: Map<string, number>;

  constructor(registers: Pick<Registers, "get">, known: Readonly<Record<string, number>> = {}) {
    this.#registers = registers;
    this.#proven = new Map(Object.entries(known));
  }

  get known(): Record<string, number> {
    return Object.fromEntries(this.#proven);
  }

  /** Takes the events in the order of the journal; false for one that does not count. */
  async admit(event: JournalEvent): Promise<boolean> {
    const role = typeof event["role"] === "string" ? event["role"] : LEADER;
    const { term } = event;
    if (event.type === ELECTION) {
      if (!isTerm(term) || term <= (this.#proven.get(role) ?? 0) || !(await this.#isProven(role, term, event.id)))
        return false;
      this.#proven.set(role, term);
      return true;
    }
    return typeof term !== "number" || isLeadersBeat(event) || term === this.#proven.get(role);
  }

  async #isProven(role: string, term: number, id: string): Promise<boolean> {
    if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(role)) return false;
    return (await this.#registers.get<TermMark | null>(termKey(role, term)))?.value?.event === id;
  }
}

/** The events that count. Every reader of the journal looks through this, or through `fenced`. */
export async function* withoutStale(
  items: AsyncIterable<Stored | BadLine>,
  terms: Terms,
): AsyncGenerator<Stored | BadLine> {
  for await (const item of items) if (!("event" in item) || (await terms.admit(item.event))) yield item;
}

/** The journal as readers see it: what does not count is not there. */
export function fenced(engine: Engine): EventLog {
  /** Of the last reader that ended: most go on where one before them stopped. */
  let last: { at: Cursor; known: Record<string, number> } | undefined;
  async function* read(options: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    const { after } = options;
    let terms =
      after === undefined ? new Terms(engine) : after === last?.at ? new Terms(engine, last.known) : undefined;
    for await (const item of engine.read(options)) {
      // Only what comes from leaders needs to know the elections before the cursor; most readers never meet it.
      if ("event" in item && item.event.term !== undefined && !isLeadersBeat(item.event))
        terms ??= await termsBefore(engine, item);
      // An election without a term counts for nothing, whoever reads it from where.
      const counts = !("event" in item) || (terms ? await terms.admit(item.event) : item.event.type !== ELECTION);
      if (terms !== undefined) last = { at: item.next, known: terms.known };
      if (counts) yield item;
    }
  }
  return {
    read,
    append: (events) => engine.append(events),
    tail: (lines) => engine.tail(lines),
    holds: (cursor) => engine.holds(cursor),
    health: () => engine.health(),
    close: () => engine.close(),
  };
}

/**
 * What the elections before an event prove. The event itself is looked for, not the reader's cursor: behind a blank or a doubled line no
 * item ends at that cursor, and elections of later terms would count too.
 */
async function termsBefore(engine: Engine, { event, seq }: Stored): Promise<Terms> {
  const terms = new Terms(engine);
  for await (const item of engine.read()) {
    if (!("event" in item)) continue;
    if (item.seq === seq && item.event.id === event.id) break;
    if (item.event.type === ELECTION) await terms.admit(item.event);
  }
  return terms;
}

function isTerm(term: unknown): term is number {
  return typeof term === "number" && Number.isSafeInteger(term) && term > 0;
}
