/** Reading on as a run goes on. A follower's place is an offset, so it can stop and go on anywhere, also in an archive. */
import { setTimeout as sleep } from "node:timers/promises";
import { Waker } from "../log/waker.ts";
import type { Look, RunLog } from "./run-log.ts";

const POLL_MS = 200;
const FIRST_POLL_MS = 20;

export interface FollowOptions {
  /** It changes when something is printed. */
  folder: string;
  signal: AbortSignal;
  /** Go on behind the end of the run, until the next one has begun. */
  forever?: boolean | undefined;
  /** What comes in a burst is read together: how long it is waited for. */
  gatherMs?: (() => number) | undefined;
}

/** A look at the run now, and each time that something has changed, until it has ended. It is valid until the next is asked for. */
export async function* looks(
  log: Pick<RunLog, "look" | "isStill" | "size">,
  options: FollowOptions,
): AsyncGenerator<Look> {
  const { signal, forever = false, gatherMs } = options;
  let waker: Waker | undefined;
  let pause = FIRST_POLL_MS;
  try {
    for (let size = 0; ; size = log.size) {
      const look = log.look();
      yield look;
      if (!look.live && (!forever || look.next !== undefined)) return;
      if (log.size !== size) pause = FIRST_POLL_MS;
      for (let still = true; still; ) {
        waker ??= new Waker(options.folder, signal);
        const printed = await waker.wait(pause);
        if (printed && gatherMs !== undefined) await sleep(gatherMs());
        if (signal.aborted) return;
        pause = Math.min(pause * 2, POLL_MS);
        still = log.isStill(printed);
      }
    }
  } finally {
    waker?.close();
  }
}
