/**
 * Hands the events to an agent, one after another, and remembers how far it came. An event is handed on until the handler has once
 * ended well: at least once, also after a crash, and in the order of the journal. Nothing is claimed, so a dead agent holds nothing.
 */
import type { CheckpointStore } from "./checkpoint.ts";
import type { Engine } from "./engine.ts";
import type { JournalEvent } from "./event.ts";
import { isLeadersBeat, Terms, withoutStale } from "./term.ts";

/** So many ids are kept: a writer that got no answer appends its event again soon, not hours later. */
const IDS_KEPT = 64;

export interface ConsumeOptions {
  /** Waits for more; otherwise ends where the journal ends now. */
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Which events are for this agent; all when it is missing. */
  match?: ((event: JournalEvent) => boolean) | undefined;
}

/** Gives how many events were handled. What the handler throws ends it, and that event comes again next time. */
export async function consume(
  engine: Engine,
  store: CheckpointStore,
  handle: (event: JournalEvent) => unknown,
  { follow, signal, match }: ConsumeOptions = {},
): Promise<number> {
  const from = store.read();
  const terms = new Terms(engine, from?.place?.terms);
  // Set by number: the interactions up to it are done with, wherever they stand.
  const done = from !== undefined && from.place === undefined ? from.interaction : -1;
  let interaction = from?.interaction ?? 0;
  let ids = from?.place?.ids ?? [];
  let handled = 0;
  const items = withoutStale(engine.read({ after: from?.place?.after, follow, signal }), terms);
  for await (const item of items) {
    if (!("event" in item) || isLeadersBeat(item.event)) continue;
    const { event, next } = item;
    if (event.interaction <= done || ids.includes(event.id) || match?.(event) === false) continue;
    await handle(event);
    interaction = Math.max(interaction, event.interaction);
    ids = [...ids, event.id].slice(-IDS_KEPT);
    store.write({ interaction, place: { after: next, terms: terms.known, ids } });
    handled++;
    if (signal?.aborted) break;
  }
  return handled;
}
