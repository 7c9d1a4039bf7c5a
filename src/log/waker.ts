/** Waiting until a folder changes: fs.watch wakes, a timer catches what a watch may miss. */
import { type FSWatcher, watch } from "node:fs";

/** Sleeps until the folder changes, the time is up, or the caller ends. */
export class Waker implements Disposable {
  #watcher: FSWatcher | undefined;
  #wake: (byChange?: boolean) => void = () => undefined;
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
      this.#watcher = watch(this.#folder, { persistent: false }, () => this.#wake(true));
      this.#watcher.on("error", () => this.#unwatch()); // A deleted folder: the timer goes on, and the next wait tries again.
    } catch {
      this.#watcher = undefined; // No folder, or no watches left: the timer alone.
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** True when the folder changed. */
  wait(ms: number): Promise<boolean> {
    if (this.#watcher === undefined) this.#watch();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake(), ms);
      this.#wake = (byChange = false) => {
        clearTimeout(timer);
        this.#wake = () => undefined;
        resolve(byChange);
      };
      if (this.#signal.aborted) this.#wake();
    });
  }

  close(): void {
    this.#unwatch();
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
