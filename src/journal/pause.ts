/**
 * What happens when something cannot be written: disk full, no right, read-only. It is told at once where it can be told (to whoever
 * called, and as an `error` event if events.log itself can be written), tried again after 1, 2 and 4 s, and then the component calls
 * itself offline and pauses. It goes on by itself when the write succeeds (`pause: auto`), or when a person says so (`manual`).
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { uuidv7 } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { isGone, type Somebody, self } from "../process/identity.ts";
import type { Engine } from "./engine.ts";

const RETRY_MS: readonly number[] = [1000, 2000, 4000];
const PREFIX = "registers/paused/";
const WRITE_ERRORS: readonly string[] = ["DISK_FULL", "DISK_LOW", "NOT_WRITABLE", "NO_RESOURCES", "REGISTRY_BUSY"];

export interface Paused {
  v: 1;
  actor: string;
  /** What it was about to do. */
  what: string;
  code: string;
  message: string;
  since: string;
  mode: Config["pause"];
  process: Somebody;
}

export interface PauseOptions {
  actor: string;
  mode: Config["pause"];
  /** The other channel: a terminal, a log, an alert. */
  tell(text: string): void;
  signal?: AbortSignal | undefined;
  /** How long a second is; tests have no time. */
  secondMs?: number;
}

export class Pause {
  readonly #engine: Engine;
  readonly #options: PauseOptions;

  constructor(engine: Engine, options: PauseOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Does it, however long it takes until it can be done. Throws what is no write error, and the last one when told to end. */
  async persist<T>(what: string, act: () => T | Promise<T>): Promise<T> {
    let trouble: Paused | undefined;
    let told = false;
    for (let tries = 0; ; tries++) {
      try {
        const result = await act();
        if (trouble !== undefined) await this.#over(trouble, told);
        return result;
      } catch (error) {
        if (!isWriteError(error) || this.#options.signal?.aborted) throw error;
        if (trouble === undefined) {
          trouble = this.#begin(what, error);
          told = await this.#append(trouble, "");
        }
        if (tries === RETRY_MS.length) this.#options.tell(`offline: ${error.message} ${this.#waitsFor()}`);
        if (tries >= RETRY_MS.length) await this.#hold(trouble);
        await this.#wait(RETRY_MS[tries] ?? (RETRY_MS.at(-1) as number));
        if (this.#options.signal?.aborted) throw error;
      }
    }
  }

  #begin(what: string, error: MidwatchError): Paused {
    const { actor, mode, tell } = this.#options;
    tell(`${what} failed: ${error.message} Trying again after 1, 2 and 4 s.${error.hint ? ` ${error.hint}` : ""}`);
    const { code, message } = error;
    return { v: 1, actor, what, code, message, since: iso(), mode, process: self() };
  }

  #waitsFor(): string {
    return this.#options.mode === "manual"
      ? "Paused until `midwatch health --resume`."
      : "Paused; it goes on by itself as soon as it can be written.";
  }

  /** Shows that we are paused, as far as that can be written; with `manual`, until somebody takes that away. */
  async #hold(trouble: Paused): Promise<void> {
    const key = PREFIX + trouble.actor;
    const { mode, signal } = this.#options;
    for (;;) {
      const shown = await this.#show(key, trouble);
      if (mode === "auto") return;
      while (shown && !signal?.aborted) {
        const now = await this.#engine.get<Paused | null>(key).catch(() => undefined);
        if (now === undefined || now.value === null) return;
        await this.#wait(1000);
      }
      if (signal?.aborted) return;
      await this.#wait(RETRY_MS.at(-1) as number);
    }
  }

  async #show(key: string, value: Paused | null): Promise<boolean> {
    try {
      const now = await this.#engine.get<Paused | null>(key);
      if (JSON.stringify(now?.value ?? null) === JSON.stringify(value)) return true;
      return (await this.#engine.set(key, value, now?.rev ?? 0)) !== undefined;
    } catch {
      return false; // The disk that is full is the one this would be written to.
    }
  }

  async #over(trouble: Paused, told: boolean): Promise<void> {
    this.#options.tell(`${trouble.what} works again; since ${trouble.since} it did not.`);
    await this.#show(PREFIX + trouble.actor, null);
    if (!told) await this.#append(trouble, ` It works again since ${iso()}.`);
  }

  async #append({ actor, what, code, message, since }: Paused, more: string): Promise<boolean> {
    const content = `${what} failed: ${message}${more}`;
    try {
      await this.#engine.append([
        { v: 1, id: uuidv7(), interaction: 0, actor, type: "error", content, timestamp: iso(), data: { code, since } },
      ]);
      return true;
    } catch {
      return false;
    }
  }

  async #wait(ms: number): Promise<void> {
    const { signal, secondMs = 1000 } = this.#options;
    await sleep((ms * secondMs) / 1000, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}

/** Who is paused now; what a dead process left does not count. */
export async function paused(engine: Engine): Promise<Paused[]> {
  const found: Paused[] = [];
  for (const key of await engine.keys(PREFIX)) {
    const value = (await engine.get<Paused | null>(key))?.value;
    if (value?.process && !isGone(value.process)) found.push(value);
  }
  return found;
}

/** A person says that it may go on. Gives who was paused. */
export async function resumeAll(engine: Engine): Promise<string[]> {
  const actors = (await paused(engine)).map(({ actor }) => actor);
  for (const actor of actors) {
    const now = await engine.get(PREFIX + actor);
    if (now !== undefined) await engine.set(PREFIX + actor, null, now.rev);
  }
  return actors;
}

function isWriteError(error: unknown): error is MidwatchError {
  return error instanceof MidwatchError && WRITE_ERRORS.includes(error.code);
}
