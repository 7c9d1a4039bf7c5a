/**
 * The place of whoever watches: a lock that keepers look at (keeper/watch.c). `midwatch up` takes it from the companion, which it ends
 * like any run, and hands it back when it ends.
 */

import { isToBeWatched } from "../budget/watched.ts";
import { toMidwatchError } from "../core/errors.ts";
import { type Lock, takeLock } from "../disk/lock.ts";
import { locate } from "../facts/locate.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { stop } from "../run/stop.ts";
import { companionLocks } from "../trust/companion-record.ts";
import { callingAgent } from "../workspace/caller.ts";
import { callCompanion, companionOf } from "../workspace/companion.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { keptIntent } from "../workspace/kept-bounds.ts";
import { reportedEnd } from "./reported.ts";

/** What was stopped gives the lock back at once; its successor may be on its way. */
const HANDED_MS = 1000;

/** Whether one of these lives, or waits for its turn, and has to be watched, or is to be ended. */
export function anyNeeds(context: Context, observed: readonly Observed[]): boolean {
  return observed.some((one) => {
    const { row, left } = one;
    const { intent } = one.facts;
    const lives = !left && row.outcome === null;
    const waits = row.queued === 1;
    if (lives && reportedEnd(context, one) !== undefined) return true;
    return lives && intent !== undefined && isToBeWatched(context, waits ? intent : keptIntent(context, intent), waits);
  });
}

/** Of one `midwatch up`. */
export class WatchPlace {
  readonly #context: Context;
  readonly #tell: (text: string) => void;
  #lock: Lock | undefined;
  #told = "";

  constructor(context: Context, tell: (text: string) => void) {
    this.#context = context;
    this.#tell = tell;
  }

  get isTaken(): boolean {
    return this.#lock !== undefined;
  }

  /** Each time before a round: another `up` may have ended, and a companion come. An agent's `up` takes no place: it could sleep on it. */
  async take(): Promise<void> {
    if (this.#lock !== undefined || callingAgent(this.#context) !== undefined) return;
    try {
      const { watch } = companionLocks(this.#context.trust.state, this.#context.layout.root);
      this.#lock = await takeLock(watch, 0);
      if (this.#lock !== undefined || !(await this.#endCompanion())) return;
      this.#lock = await takeLock(watch, HANDED_MS);
    } catch (error) {
      // It leads all the same, by the lease; two that watch do no harm.
      const { message } = toMidwatchError(error);
      if (message !== this.#told) this.#tell(`The place of the companion cannot be taken: ${message}`);
      this.#told = message;
    }
  }

  async #endCompanion(): Promise<boolean> {
    const agent = companionOf(this.#context)?.agent;
    if (!agent || withReader(this.#context, (registry) => registry.get(agent)) === undefined) return false;
    if (hasEnded(locate(this.#context, agent).facts)) return false;
    await stop(this.#context, [agent], { reason: "midwatch up watches now" });
    return true;
  }

  /** When this process has ceased to lead. `observed`: what it saw last. */
  async handBack(observed: readonly Observed[]): Promise<void> {
    if (this.#lock === undefined) return;
    this.#lock.release();
    this.#lock = undefined;
    if (anyNeeds(this.#context, observed)) await callCompanion(this.#context);
  }
}
