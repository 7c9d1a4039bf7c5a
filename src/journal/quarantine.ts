/**
 * What becomes of a line that is no event: one record in events.error.log, then one `error` event, both with an id that the line and
 * its place give. Whoever finds the record after a crash reads on to see whether the event is there too, so both exist once. One
 * process at a time does this: the one that holds the lock of the snapshot.
 */
import { createHash } from "node:crypto";
import { iso } from "../core/time.ts";
import { append } from "../disk/append.ts";
import { Log } from "../log/log.ts";
import type { BadLine, EventLog } from "./engine.ts";
import { type EventInput, type JournalEvent, makeEvent, placeId } from "./event.ts";
import { REACH_BYTES } from "./pieces.ts";

const FIRST_BYTES = 4096;
const AT_ONCE = 256;

/** One line of events.error.log. */
export interface QuarantineRecord {
  v: 1;
  /** Where the line begins in events.log. */
  seq: number;
  line_number: number | null;
  length: number;
  /** Of the line, of a longer one of its first 16 MiB. */
  sha256: string;
  reason: string;
  /** Its first 4 KiB, as base64. */
  bytes: string;
  /** The id of the `error` event. */
  event: string;
  timestamp: string;
}

export class Quarantine {
  readonly #path: string;
  readonly #log: EventLog;
  readonly #step: (step: "recorded") => void;
  /** Ids of recorded lines, from the first bad line on that we met. */
  #known: Set<string> | undefined;
  #fresh: { record: QuarantineRecord; event: EventInput }[] = [];
  /** Recorded earlier; their events have not been met yet. */
  readonly #waiting = new Map<string, EventInput>();
  readonly #met = new Set<string>();

  constructor(path: string, log: EventLog, step: (step: "recorded") => void = () => undefined) {
    this.#path = path;
    this.#log = log;
    this.#step = step;
  }

  async add({ bad }: BadLine, interaction: number): Promise<void> {
    const { seq, line, length, reason, bytes } = bad;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const id = placeId("bad", seq, sha256);
    const event: EventInput = {
      id,
      interaction,
      actor: "midwatch",
      type: "error",
      content: `Line ${line ?? "?"} of events.log is not an event (${reason}); it is in events.error.log.`,
      data: { line_number: line, seq, sha256 },
    };
    this.#known ??= recorded(this.#path, seq - REACH_BYTES);
    if (this.#met.has(id)) return;
    if (this.#known.has(id)) this.#waiting.set(id, event);
    else {
      const first = Buffer.from(bytes.subarray(0, FIRST_BYTES)).toString("base64");
      this.#fresh.push({
        record: { v: 1, seq, line_number: line, length, sha256, reason, bytes: first, event: id, timestamp: iso() },
        event,
      });
    }
    if (this.#fresh.length >= AT_ONCE) await this.#tell();
  }

  /** This event has been read. It may stand before the end of what it tells of: a piece is waited for. */
  met({ id, type }: JournalEvent): void {
    this.#waiting.delete(id);
    if (type === "error") this.#met.add(id);
  }

  /** The journal has been read to its end. True when events were appended to it. */
  async settle(): Promise<boolean> {
    const told = await this.#tell();
    const missing = [...this.#waiting.values()];
    this.#waiting.clear();
    await this.#log.append(missing.map(makeEvent));
    return told || missing.length > 0;
  }

  async #tell(): Promise<boolean> {
    const fresh = this.#fresh;
    if (fresh.length === 0) return false;
    this.#fresh = [];
    append(
      this.#path,
      fresh.map(({ record }) => record),
      { sync: true },
    );
    this.#step("recorded");
    await this.#log.append(fresh.map(({ event }) => makeEvent(event)));
    return true;
  }
}

function recorded(path: string, from: number): Set<string> {
  const ids = new Set<string>();
  using log = Log.open(path, undefined, { type: "line", json: true });
  if (log === undefined) return ids;
  for (const { record } of log.records({ offset: 0, line: null }, log.end(true))) {
    const known = record?.data as Partial<QuarantineRecord> | null | undefined;
    if (typeof known?.event === "string" && Number(known.seq) >= from) ids.add(known.event);
  }
  return ids;
}
