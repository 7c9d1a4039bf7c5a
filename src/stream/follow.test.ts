import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { looks } from "./follow.ts";
import type { Look } from "./run-log.ts";

const at = (end: number, more: Partial<Look> = {}): Look => ({
  run: 1,
  log: undefined,
  end,
  live: true,
  next: undefined,
  cutTo: undefined,
  ...more,
});

/** A run that is at each of these in turn; between two of them it is still for some polls. */
async function follow(run: readonly Look[], forever: boolean): Promise<{ seen: Look[]; polls: number }> {
  const seen: Look[] = [];
  let polls = 0;
  const log = {
    size: 0,
    look: () => run[seen.length] as Look,
    isStill: () => ++polls % 3 !== 0,
  };
  for await (const look of looks(log, { folder: folder(), forever, signal: new AbortController().signal }))
    seen.push(look);
  return { seen, polls };
}

it("looks again only when something has changed, and a last time when the run has ended", async () => {
  const run = [at(3), at(5), at(7, { live: false })];
  expect(await follow(run, false)).toEqual({ seen: run, polls: 6 });
});

it("ends with the run also when the next one has begun already; only `forever` waits for that", async () => {
  const run = [at(3, { live: false }), at(3, { live: false, next: 2 })];
  expect((await follow(run, false)).seen).toEqual(run.slice(0, 1));
  expect((await follow(run, true)).seen).toEqual(run);
});
