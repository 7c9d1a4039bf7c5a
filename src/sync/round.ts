/**
 * One sync: fetch, take over what others wrote, export what is ours, put it behind theirs, push. Nothing can conflict, because each file
 * has one writer and only grows; whoever was slower does it again on what is there now. Killed anywhere, the next one goes on.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../core/errors.ts";
import type { OriginId } from "../core/ids.ts";
import type { Layout } from "../disk/layout.ts";
import { takeLock } from "../disk/lock.ts";
import type { EventLog } from "../journal/engine.ts";
import { exportOwn, lastOwn, type Mask } from "./export.ts";
import type { Importer } from "./import.ts";
import { wholeBytes } from "./line.ts";
import { makeOrigin, originsHere, readOrigin } from "./origin.ts";
import { type Blob, type Repository, SyncFailure, type Tip } from "./repository.ts";

/** Points of a round, in order; tests kill at each of them. */
export type SyncStep = "prepared" | "fetched" | "imported" | "exported" | "committed" | "pushed" | "remembered";

export interface RoundTools {
  layout: Layout;
  /** This machine's journal. */
  log: EventLog;
  mask: Mask;
  repository: Repository;
  importer: Importer;
  onStep?: ((step: SyncStep) => void) | undefined;
}

export interface RoundResult {
  /** Events of ours that the remote has. */
  synced: number;
  /** Whether anything was pushed. */
  pushed: boolean;
  rewritten: OriginId[];
}

const RACES_MAX = 30;
const RACE_MS = 40;

/** With `check`, asks whether we may push even when there is nothing to push. */
export async function round(
  tools: RoundTools,
  { waitMs, check }: { waitMs: number; check: boolean },
): Promise<RoundResult> {
  const { layout, repository, onStep = () => undefined } = tools;
  makeOrigin(layout);
  const lock = await takeLock(layout.sync.roundLock, waitMs);
  if (lock === undefined) {
    throw new MidwatchError("SYNC_BUSY", "Another process is syncing this workspace.", {
      hint: "`midwatch sync --status` tells how far it is; a process that stands still (T in `ps`) has to be continued or ended.",
    });
  }
  try {
    await repository.prepare();
    onStep("prepared");
    for (let races = 1; ; races++) {
      try {
        return await onTop(tools, check);
      } catch (error) {
        if (!(error instanceof SyncFailure && error.fault === "race") || races === RACES_MAX) throw error;
      }
      await sleep(RACE_MS * Math.min(races, 10) * (0.5 + Math.random()));
    }
  } finally {
    lock.release();
  }
}

async function onTop(tools: RoundTools, check: boolean): Promise<RoundResult> {
  const { layout, log, mask, repository, importer, onStep = () => undefined } = tools;
  const tip = await repository.fetch();
  onStep("fetched");
  const rewritten = tip === undefined ? [] : await importer.takeOver(tip);
  onStep("imported");
  if (!(await exportOwn(layout, log, mask)))
    throw new SyncFailure("local", "Another process does not come to an end with its export.");
  onStep("exported");
  const origin = readOrigin(layout) ?? makeOrigin(layout);
  // Before the bytes: what comes in between is pushed too, and counted next time.
  const synced = lastOwn(layout, origin)?.n ?? 0;
  const files = await filesFor(layout, repository, tip, rewritten);
  const commit = await repository.commit(tip, files, `${origin.origin}: ${synced} events`);
  onStep("committed");
  if (commit !== undefined) await repository.push(commit);
  else if (check && tip !== undefined) await repository.push(tip.commit, true);
  onStep("pushed");
  if (commit !== undefined) await repository.tidy();
  return { synced, pushed: commit !== undefined, rewritten };
}

/** Of each file the longer one: so a branch that was deleted or set back is whole again with the next push of anybody. */
async function filesFor(
  layout: Layout,
  repository: Repository,
  tip: Tip | undefined,
  rewritten: readonly OriginId[],
): Promise<Map<OriginId, Blob>> {
  const files = new Map(tip?.files);
  for (const origin of originsHere(layout)) {
    const bytes = wholeBytes(layout.sync.file(origin));
    if (bytes.length > (files.get(origin)?.bytes ?? 0) && !rewritten.includes(origin))
      files.set(origin, await repository.write(bytes));
  }
  return files;
}
