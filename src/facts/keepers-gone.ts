import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClaimFact, ProcessIdentity } from "../core/types.ts";
import type { RunPaths } from "../disk/layout.ts";
import { readFact } from "../disk/sealed.ts";
import { isInUse, readProcess } from "../process/identity.ts";
import type { Facts } from "./facts.ts";

/** Its last sync may wait for a busy disk; what is cleaned up meanwhile would find its files in use. */
const WAIT_MS = 5000;
const KEEPER = "midwatch-keeper";

/** A keeper has the log open for moments after its last fact; until its last thread has ended no file of the run may be touched. False when it is still there. */
export async function keepersGone(paths: RunPaths, { done, claim }: Facts): Promise<boolean> {
  const keepers = [claim, readFact<ClaimFact>(paths, paths.adopt)];
  const deadline = performance.now() + WAIT_MS;
  // By its name too: the number may be a stranger's, and its arguments go with its first thread.
  const lives = (one: ProcessIdentity | null | undefined): boolean => {
    const found = one ? readProcess(one.pid) : undefined;
    return found !== undefined && found.start_ticks === one?.start_ticks && found.name === KEEPER;
  };
  while (done && keepers.some(lives)) {
    if (performance.now() >= deadline) return false;
    await sleep(1);
  }
  return true;
}

/** A pause that ends early when the keeper has written its last fact, or is gone: asking that costs far less than reading all facts again. */
export async function pauseUntilNews(paths: RunPaths, keeper: number | undefined, pauseMs: number): Promise<void> {
  const state = (): string => `${existsSync(paths.done)} ${keeper !== undefined && isInUse(keeper)}`;
  const before = state();
  const until = performance.now() + pauseMs;
  do await sleep(1);
  while (performance.now() < until && state() === before);
}
