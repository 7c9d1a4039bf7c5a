/**
 * Many records to one JSONL file of ours, from one process among several. What is appended while a sync is under way goes out
 * together in the next write (group commit), so a hundred callers cost one fdatasync, not a hundred. No lock: each write is
 * whole records through O_APPEND.
 */
import { closeSync, constants, fdatasync, fstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { appendAll } from "./append.ts";
import { diskFault, errno } from "./fault.ts";
import { makeFolders } from "./make-folders.ts";
import { syncFolder } from "./replace.ts";

export interface AppenderOptions {
  /** `append` resolves when the records are on stable storage, not only written. */
  durable: boolean;
  /** How long each sync lasted. */
  onSync?: (seconds: number) => void;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
const FLUSH_CHARS = 64 * 1024;
/** A character takes at most three bytes. Used within one flush only, by all appenders: fresh memory each time costs a fifth more. */
const scratch = Buffer.allocUnsafeSlow(4 * FLUSH_CHARS);

export class Appender {
  readonly #path: string;
  readonly #durable: boolean;
  readonly #onSync: (seconds: number) => void;
  #fd: number | undefined;
  #text = "";
  #waiters: Waiter[] = [];
  /** A commit waits for the end of this turn, for what others append in it. */
  #gathering = false;
  /** When the first and the last record of the next commit came, and how long a commit lasts by the last ones. */
  #first = 0;
  #last = 0;
  #commitMs = 0;
  #committing = false;
  #scheduled = false;
  /** Why records that somebody waits for were not written. */
  #lost: unknown;
  #closed = false;
  readonly #onExit = (): void => this.flush();

  constructor(path: string, options: AppenderOptions = { durable: true }) {
    this.#path = path;
    this.#durable = options.durable;
    this.#onSync = options.onSync ?? (() => undefined);
    process.on("exit", this.#onExit);
  }

  /** Takes a record along; it is written with its neighbours, at the latest when this turn of the event loop ends. */
  write(record: object): void {
    this.#text += `${JSON.stringify(record)}\n`;
    if (this.#text.length >= FLUSH_CHARS) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }

  /**
   * Resolves when the records are written (and synced). Rejects with DISK_FULL and the like: then none is acknowledged. The first of
   * them may be in the file all the same, since a disk that fills up takes a part; readers close a torn one and know copies by id.
   */
  append(records: readonly object[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      for (const record of records) this.#text += `${JSON.stringify(record)}\n`;
      this.#last = performance.now();
      if (this.#waiters.length === 0) this.#first = this.#last;
      this.#waiters.push({ resolve, reject });
      if (!this.#committing) this.#begin();
    });
  }

  /**
   * One commit for all is best where records are made faster than the disk takes them. Where making them lasts longer than a commit,
   * the disk would stand idle meanwhile: then it gets what there is, and works while the callers make the rest.
   */
  #begin(): void {
    if (this.#last - this.#first > this.#commitMs) this.#commit();
    else if (!this.#gathering) {
      this.#gathering = true;
      queueMicrotask(() => {
        this.#gathering = false;
        if (!this.#committing && this.#waiters.length > 0) this.#commit();
      });
    }
  }

  #commit(): void {
    this.#committing = true;
    const waiters = this.#waiters;
    const begun = performance.now();
    this.#waiters = [];
    const settle = (error: unknown): void => {
      this.#committing = false;
      this.#commitMs += (performance.now() - begun - this.#commitMs) / 8;
      for (const waiter of waiters) error === null ? waiter.resolve() : waiter.reject(error);
      if (this.#waiters.length > 0) this.#begin();
      else if (this.#closed) this.#closeFile();
    };
    try {
      this.flush();
      if (this.#lost !== undefined) throw this.#lost;
      if (this.#durable && this.#fd !== undefined) this.#sync(this.#fd, settle);
      else settle(null);
    } catch (error) {
      this.#lost = undefined;
      settle(error);
    }
  }

  #sync(fd: number, settle: (error: unknown) => void): void {
    const begun = performance.now();
    fdatasync(fd, (error) => {
      if (error === null) this.#onSync((performance.now() - begun) / 1000);
      settle(error && diskFault(error, this.#path));
    });
  }

  /** Writes what has gathered, now. Throws what the disk says; what it did not take is then dropped, and whoever waits for it is told. */
  flush(): void {
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    const lines = text.length * 3 > scratch.length ? Buffer.from(text) : scratch.subarray(0, scratch.write(text));
    try {
      appendAll(this.#open(), lines);
    } catch (error) {
      const fault = diskFault(error, this.#path);
      if (this.#waiters.length > 0) this.#lost = fault;
      throw fault;
    }
  }

  /** The file at our path: a folder or file that was deleted is made again. */
  #open(): number {
    if (this.#fd !== undefined && fstatSync(this.#fd).nlink > 0) return this.#fd;
    this.#closeFile();
    try {
      this.#fd = openSync(this.#path, OPEN, 0o600);
    } catch (error) {
      if (errno(error) !== "ENOENT") throw error;
      makeFolders(dirname(this.#path));
      this.#fd = openSync(this.#path, OPEN, 0o600);
    }
    // What is in a file is lost with its name: a new one is made durable before the first record counts.
    if (this.#durable && fstatSync(this.#fd).size === 0) syncFolder(dirname(this.#path));
    return this.#fd;
  }

  #closeFile(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** What was appended is written now. The file is closed when it is synced too: its number could be another file's by then. */
  close(): void {
    process.off("exit", this.#onExit);
    this.#closed = true;
    try {
      this.flush();
    } finally {
      if (!this.#committing && this.#waiters.length === 0) this.#closeFile();
    }
  }
}
