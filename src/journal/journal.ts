/** The journal as callers see it: append what was checked, read what fits. */
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import type { Cursor, EventLog, Stored } from "./engine.ts";
import { checkInput, type EventInput, type JournalEvent, makeEvent } from "./event.ts";
import { isLeadersBeat } from "./term.ts";

interface EventFilter {
  type?: string | undefined;
  actor?: string | undefined;
  interaction?: number | undefined;
  sinceMs?: number | undefined;
}

export interface EventsOptions extends EventFilter {
  /** Only the last ones. */
  last?: number | undefined;
  /** Only what lies behind this place; not together with `last`. */
  after?: Cursor | undefined;
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Told once for each line that is no event. */
  onBad?: ((line: number | null, reason: string) => void) | undefined;
}

/** Begin with this much of the journal's end, then with more: most tails are near it. */
const FIRST_LINES = 256;
const MORE = 8;

export class Journal {
  readonly #log: EventLog;

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Events of a caller: checked, and durable when it resolves. */
  async append(inputs: readonly EventInput[], byAgent = false): Promise<JournalEvent[]> {
    const events = inputs.map((input) => makeEvent(checkInput(input, byAgent)));
    await this.#log.append(events);
    return events;
  }

  /** The next free interaction; two callers at once may get the same. `known` saves reading what lies before its cursor. */
  async nextInteraction(known: { highest: number; cursor: Cursor | null }): Promise<number> {
    const after = known.cursor !== null && (await this.#log.holds(known.cursor)) ? known.cursor : undefined;
    let highest = after === undefined ? -1 : known.highest;
    for await (const item of this.#log.read({ after }))
      if (!("bad" in item)) highest = Math.max(highest, item.event.interaction);
    if (highest < Number.MAX_SAFE_INTEGER) return Math.max(1, highest + 1);
    throw new MidwatchError("USAGE", "There is no interaction behind the highest one.", { hint: "Name a number." });
  }

  async *events(options: EventsOptions = {}): AsyncGenerator<Stored> {
    const { last, follow, signal, onBad } = options;
    let { after } = options;
    if (after !== undefined && !(await this.#log.holds(after)))
      throw new MidwatchError("USAGE", `${quote(after)} is no place in this journal.`, {
        hint: "Use the cursor of an event as it was given, or leave it out.",
      });
    if (last !== undefined) {
      const found = await this.#last(options, last);
      yield* found.items;
      if (!follow) return;
      after = found.next;
    }
    for await (const item of this.#log.read({ after, follow, signal })) {
      if ("bad" in item) onBad?.(item.bad.line, item.bad.reason);
      else if (fits(item.event, options)) yield item;
    }
  }

  async #last(options: EventsOptions, count: number): Promise<{ items: Stored[]; next: Cursor | undefined }> {
    for (let lines = Math.max(count, FIRST_LINES); ; lines *= MORE) {
      const after = await this.#log.tail(lines);
      let next = after;
      const items: Stored[] = [];
      for await (const item of this.#log.read({ after, signal: options.signal })) {
        next = item.next;
        if ("bad" in item || !fits(item.event, options)) continue;
        items.push(item);
        if (items.length > count) items.shift();
      }
      if (items.length >= count || after === undefined || options.signal?.aborted) return { items, next };
    }
  }
}

/** The heartbeats of whoever leads would bury the rest: they are given to those who ask for that type. */
function fits(event: JournalEvent, { type, actor, interaction, sinceMs }: EventFilter): boolean {
  return (
    (type === undefined ? !isLeadersBeat(event) : event.type === type) &&
    (actor === undefined || event.actor === actor) &&
    (interaction === undefined || event.interaction === interaction) &&
    (sinceMs === undefined || Date.parse(event.timestamp) >= sinceMs)
  );
}
