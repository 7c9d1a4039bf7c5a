/**
 * The journal as one file of this machine. Many processes append to it without a lock: each write is whole lines through O_APPEND, and
 * an append resolves when its lines are on stable storage (group commit).
 */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { Appender } from "../disk/appender.ts";
import { errno } from "../disk/fault.ts";
import { tailStart, wholeEnd } from "../log/lines.ts";
import { FileSource } from "../log/source.ts";
import { Waker } from "../log/waker.ts";
import { appendLatency } from "./append-latency.ts";
import type { BadLine, Cursor, EngineHealth, EventLog, ReadOptions, Stored } from "./engine.ts";
import type { JournalEvent } from "./event.ts";
import { isCursorOf, Reading } from "./reading.ts";

/** A watch may miss something: this often a follower looks by itself. */
const POLL_MS = 250;

export class EmbeddedLog implements EventLog {
  readonly #path: string;
  #appender: Appender | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async append(events: readonly JournalEvent[]): Promise<void> {
    this.#appender ??= new Appender(this.#path, {
      durable: true,
      onSync: (seconds) => appendLatency.sync.add(seconds),
    });
    const begun = performance.now();
    await this.#appender.append(events);
    appendLatency.durable.add((performance.now() - begun) / 1000);
  }

  async *read({ after, follow = false, signal = NEVER }: ReadOptions = {}): AsyncGenerator<Stored | BadLine> {
    const reading = new Reading(after);
    using waker = follow ? new Waker(dirname(this.#path), signal) : undefined;
    for (;;) {
      yield* reading.on(this.#path, signal);
      if (waker === undefined || signal.aborted) return;
      await waker.wait(POLL_MS);
      if (signal.aborted) return;
    }
  }

  async tail(lines: number): Promise<Cursor | undefined> {
    using source = FileSource.open(this.#path);
    const offset = source === undefined ? 0 : tailStart(source, wholeEnd(source, source.size()), lines);
    return offset === 0 ? undefined : String(offset);
  }

  async holds(cursor: Cursor): Promise<boolean> {
    using source = FileSource.open(this.#path);
    return source !== undefined && isCursorOf(source, cursor);
  }

  async health(): Promise<EngineHealth> {
    const problems: string[] = [];
    try {
      accessSync(this.#path, constants.R_OK | constants.W_OK);
    } catch (error) {
      if (errno(error) !== "ENOENT") problems.push(`${this.#path} cannot be used: ${errno(error)}`);
    }
    return { engine: "embedded", durable: true, problems };
  }

  async close(): Promise<void> {
    this.#appender?.close();
    this.#appender = undefined;
  }
}
const NEVER = new AbortController().signal;
