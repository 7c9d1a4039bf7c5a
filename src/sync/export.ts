/**
 * What is new in this machine's journal goes to the file of our origin: secrets masked, with its place in the order of all. The file is
 * its own bookkeeping: its last line tells how far we came, so whoever is killed anywhere leaves nothing twice and nothing out.
 */
import { statSync } from "node:fs";
import type { OriginId } from "../core/ids.ts";
import { growLines } from "../disk/append.ts";
import type { Layout } from "../disk/layout.ts";
import { takeLock } from "../disk/lock.ts";
import type { Cursor, EventLog } from "../journal/engine.ts";
import type { JournalEvent } from "../journal/event.ts";
import { Quarantine } from "../journal/quarantine.ts";
import { knownHighest } from "../journal/snapshot/snapshot.ts";
import { isLeadersBeat } from "../journal/term.ts";
import { wholeEnd } from "../log/lines.ts";
import { FileSource } from "../log/source.ts";
import { lastLine, type OriginEvent, placed } from "./line.ts";
import { type Origin, originsHere, readOrigin, renewOrigin } from "./origin.ts";

/** Hides secrets; made anew for each export. */
export type Mask = () => (event: JournalEvent) => JournalEvent;

const LOCK_MS = 5000;
const FLUSH_CHARS = 1 << 20;
/** Each sync compresses the file once more; and hosts of git refuse files of 100 MB. */
const FILE_MAX: number = 16 << 20;

/** False when another process was at it all the time. Nothing happens in a workspace that is not synced. */
export async function exportOwn(
  layout: Layout,
  log: EventLog,
  mask: Mask,
  fileMax: number = FILE_MAX,
): Promise<boolean> {
  if (readOrigin(layout) === undefined) return true;
  using lock = await takeLock(layout.sync.exportLock, LOCK_MS);
  if (lock === undefined) return false;
  const origin = readOrigin(layout);
  if (origin !== undefined) await exportNew(layout, log, mask(), new OwnFile(layout, origin, fileMax));
  return true;
}

async function exportNew(
  layout: Layout,
  log: EventLog,
  mask: (event: JournalEvent) => JournalEvent,
  own: OwnFile,
): Promise<void> {
  const last = lastOwn(layout, own.origin);
  const start = await startOf(layout, log, last);
  let [lc, n] = [highestClock(layout), last?.n ?? 0];
  const quarantine = new Quarantine(layout.eventsError, log);
  let { after } = start;
  do {
    for await (const item of log.read({ after })) {
      const at = after ?? null;
      after = item.next;
      if ("bad" in item) {
        await quarantine.add(item, Math.max(0, knownHighest(layout).highest));
        continue;
      }
      quarantine.met(item.event);
      // Who leads here is nobody else's news.
      if (isLeadersBeat(item.event)) continue;
      if (!start.skip.has(item.event.id)) own.write(mask(item.event), { lc: ++lc, n: ++n, at });
    }
    own.flush();
  } while (await quarantine.settle());
}

/** The file that our events go to; a full one is followed by the next. */
class OwnFile {
  origin: Origin;
  readonly #layout: Layout;
  readonly #max: number;
  #text = "";

  constructor(layout: Layout, origin: Origin, max: number) {
    this.#layout = layout;
    this.#max = max;
    this.origin = origin;
    this.#followWhenFull();
  }

  write(event: JournalEvent, order: Pick<OriginEvent, "lc" | "n" | "at">): void {
    this.#text += `${JSON.stringify({ ...event, origin: this.origin.origin, ...order })}\n`;
    if (this.#text.length >= FLUSH_CHARS) this.flush();
  }

  flush(): void {
    if (this.#text === "") return;
    growLines(this.#layout.sync.file(this.origin.origin), Buffer.from(this.#text));
    this.#text = "";
    this.#followWhenFull();
  }

  #followWhenFull(): void {
    const { origin, before } = this.origin;
    const size = statSync(this.#layout.sync.file(origin), { throwIfNoEntry: false })?.size ?? 0;
    if (size >= this.#max) this.origin = renewOrigin(this.#layout, [...before, origin]);
  }
}

/** The last event that went out, also under an earlier name. */
export function lastOwn({ sync }: Layout, { origin, before }: Origin): OriginEvent | undefined {
  for (const name of [origin, ...before.toReversed()]) {
    const last = lastLine(sync.file(name));
    if (last !== undefined) return last;
  }
  return undefined;
}

interface Start {
  after: Cursor | undefined;
  /** Events that went out already. */
  skip: ReadonlySet<string>;
}

/** Just before the last event that went out. If that is not there, this is another journal: all of it is new but what is here by its id. */
async function startOf(layout: Layout, log: EventLog, last: OriginEvent | undefined): Promise<Start> {
  if (last !== undefined) {
    const after = typeof last.at === "string" ? last.at : undefined;
    if (after === undefined || (await log.holds(after))) {
      for await (const item of log.read({ after })) {
        if ("bad" in item) continue;
        if (item.event.id !== last.id) break;
        return { after, skip: new Set([last.id]) };
      }
    }
  }
  return { after: undefined, skip: idsHere(layout) };
}

function idsHere(layout: Layout): Set<string> {
  const ids = new Set<string>();
  for (const origin of originsHere(layout)) for (const { event } of eventsOf(layout, origin)) ids.add(event.id);
  return ids;
}

function* eventsOf({ sync }: Layout, origin: OriginId): ReturnType<typeof placed> {
  using source = FileSource.open(sync.file(origin));
  if (source === undefined) return;
  yield* placed(source, 0, wholeEnd(source, source.size()), 0);
}

function highestClock(layout: Layout): number {
  return Math.max(0, ...originsHere(layout).map((origin) => lastLine(layout.sync.file(origin))?.lc ?? 0));
}
