/**
 * What the journal stands on. The embedded engine keeps it in plain files of one machine; another engine may keep it elsewhere. All
 * above (projection, lease, heartbeat, checkpoint, health) is written once, on this interface, and its contract is one suite of tests.
 */
import type { JournalEvent } from "./event.ts";

/** Where a reader is: opaque, ordered as text of equal engines is not; compare only by what `read` gives. */
export type Cursor = string;

/** An event as it was read: with its place. */
export interface Stored {
  event: JournalEvent;
  /** Behind this event: reading goes on here. */
  next: Cursor;
  /** The byte offset of its line, or the engine's own number. */
  seq: number;
  /** Of a fleet whose keys are known: whether its host signed it. */
  signed?: boolean;
}

/** A line that is no event. It costs one record in quarantine and one `error` event, never the rest. */
export interface BadLine {
  bad: { line: number | null; seq: number; reason: string; length: number; bytes: Uint8Array };
  next: Cursor;
}

export interface ReadOptions {
  /** From the beginning when it is missing. */
  after?: Cursor | undefined;
  /** Waits for more; otherwise ends where the journal ends now. */
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface Register<T = unknown> {
  value: T;
  rev: number;
}

export interface EngineHealth {
  engine: string;
  /** Whether an acknowledged event survives a power cut. */
  durable: boolean;
  problems: string[];
}

/** The events alone: all that projection, quarantine and doors need. */
export interface EventLog {
  /** All of them, in order, durable when it resolves. Throws DISK_FULL, NOT_WRITABLE and the like; then none is acknowledged. */
  append(events: readonly JournalEvent[]): Promise<void>;
  /** In the order of the journal, whole lines only. An id that came shortly before is not given again (each engine says what that is). */
  read(options?: ReadOptions): AsyncGenerator<Stored | BadLine>;
  /** Where about this many lines before the end begin; undefined for the beginning. */
  tail(lines: number): Promise<Cursor | undefined>;
  /** Whether reading can go on there, in order. Not when the journal became shorter or another one; `read` then begins anew. */
  holds(cursor: Cursor): Promise<boolean>;
  /** Whether what it acknowledges is safe, and what is wrong. */
  health(): Promise<EngineHealth>;
  /** Lets go of files and connections. */
  close(): Promise<void>;
}

/** Small values that change, each with a revision. */
export interface Registers {
  /** Undefined when there is none. */
  get<T>(key: string): Promise<Register<T> | undefined>;
  /** Compare and set; `rev` is what was read, 0 for a new one. Undefined when somebody else was faster. */
  set(key: string, value: unknown, rev: number): Promise<number | undefined>;
  /** Keys that begin with the prefix. */
  keys(prefix: string): Promise<string[]>;
}

/** A journal with its registers, wherever it is kept. */
export interface Engine extends EventLog, Registers {}
