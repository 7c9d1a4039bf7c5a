/** Work over many bytes, in steps: each tells how many are done, the last one is the answer. */
import { setImmediate as breathe } from "node:timers/promises";

export type Steps<T> = Generator<number, T>;

/** `done` says what was done to the bytes: "checked", "packed". */
export type Progress = (bytes: number, done: string) => void;

/** Goes through the steps; others run in between, so that what is told is seen and one long file holds nobody up. */
export async function follow<T>(steps: Steps<T>, done: string, progress?: Progress): Promise<T> {
  try {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      progress?.(step.value, done);
      await breathe();
    }
  } finally {
    steps.return(undefined as T); // Closes what it holds when `progress` has thrown.
  }
}
