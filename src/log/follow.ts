/**
 * Reading on as a log grows. The cursor is the run and the offset of the next line, so a follower can stop and go on anywhere,
 * also in an archive. fs.watch wakes it, a timer catches what a watch may miss.
 */
import { type FSWatcher, watch } from "node:fs";
import type { Log, Place, Read } from "./log.ts";

/** One look at a run's log: where it is now, and whether more can come. */
export interface Look {
  run: number;
  /** Undefined while there is no file. */
  log: Log | undefined;
  live: boolean;
  /** The number of the run after this one, when there is one. */
  next: number | undefined;
}

export interface Followed extends Read {
  run: number;
}

const POLL_MS = 200;
const FIRST_POLL_MS = 20;

/**
 * Records from `place` on until the run has ended (`forever`: also through its restarts). `look` opens the log of a run as it is
 * on disk now: in logs/, moved to archive/, compressed, or remade after a deletion; the bytes at an offset are the same in each.
 */
export async function* follow(
  start: { run: number; place: Place },
  look: (run: number) => Look,
  options: { folder: string; forever: boolean; signal: AbortSignal },
): AsyncGenerator<Followed> {
  const waker = new Waker(options.folder, options.signal);
  let { run, place } = start;
  let pause = FIRST_POLL_MS;
  try {
    for (;;) {
      // Asked before the size: what is printed in between is read in the next round.
      const { log, live, next } = look(run);
      let moved = false;
      try {
        if (log !== undefined) {
          const end = log.end(live);
          for (const item of log.records(place, end)) {
            yield { run, ...item };
            if (options.signal.aborted) return;
          }
          moved = end > place.offset;
          if (moved)
            place = { offset: end, line: place.line === null ? null : place.line + log.count(place.offset, end) };
        }
      } finally {
        log?.close();
      }
      if (options.signal.aborted) return;
      if (!live && !options.forever) return;
      if (!live && next !== undefined) {
        run = next;
        place = { offset: 0, line: 0 };
        continue;
      }
      pause = moved ? FIRST_POLL_MS : Math.min(pause * 2, POLL_MS);
      await waker.wait(pause);
    }
  } finally {
    waker.close();
  }
}

/** Sleeps until the folder changes, the time is up, or the caller ends. */
export class Waker {
  #watcher: FSWatcher | undefined;
  #wake: () => void = () => undefined;
  readonly #signal: AbortSignal;
  readonly #folder: string;

  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder;
    this.#signal = signal;
    this.#watch();
    signal.addEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => this.#wake();

  #watch(): void {
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, () => this.#wake());
      this.#watcher.on("error", () => this.#unwatch()); // A deleted folder: the timer goes on, and the next wait tries again.
    } catch {
      this.#watcher = undefined; // No folder, or no watches left: the timer alone.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  wait(ms: number): Promise<void> {
    if (this.#watcher === undefined) this.#watch();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), ms);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = () => undefined;
        resolve();
      };
      if (this.#signal.aborted) this.#wake();
    });
  }

  close(): void {
    this.#unwatch();
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
