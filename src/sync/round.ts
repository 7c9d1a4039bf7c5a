/**
 * One sync: fetch, take over what others wrote, export what is ours, put it behind theirs, push. Nothing can conflict, because each file
 * has one writer and only grows; whoever was slower does it again on what is there now. Killed anywhere, the next one goes on.
 */
import { statSync } from "node:fs";
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
import { type ViewOptions, viewOf } from "./view.ts";

/** Points of a round, in order; tests kill at each of them. */
export type SyncStep = "prepared" | "fetched" | "imported" | "exported" | "committed" | "pushed" | "remembered";

export interface RoundTools {
  layout: Layout;
  /** This machine's journal. */
  log: EventLog;
  mask: Mask;
  repository: Repository;
  importer: Importer;
  view: ViewOptions;
  onStep?: ((step: SyncStep) => void) | undefined;
}

export interface RoundResult {
  /** Events of ours that the remote has. */
  synced: number;
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
  using lock = await takeLock(layout.sync.roundLock, waitMs);
  if (lock === undefined) {
    throw new MidwatchError("SYNC_BUSY", "Another process is syncing this workspace.", {
      hint: "`midwatch sync --status` tells how far it is; a process that stands still (T in `ps`) has to be continued or ended.",
    });
  }
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
}

async function onTop(tools: RoundTools, check: boolean): Promise<RoundResult> {
  const { layout, log, mask, repository, importer, view, onStep = () => undefined } = tools;
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
  const longer = await longerHere(layout, repository, tip, rewritten);
  if (longer.size > 0 || tip === undefined || !tip.isShown) {
    const files = new Map([...(tip?.files ?? []), ...longer]);
    const shown = await viewOf(layout, log, repository, files, view);
    const commit = await repository.commit(tip, files, shown, `${origin.origin}: ${synced} events`);
    onStep("committed");
    await repository.push(commit);
    onStep("pushed");
    await repository.tidy();
  } else if (check) await repository.push(tip.commit, true);
  return { synced, rewritten };
}

/** Of each file the longer one: so a branch that was deleted or set back is whole again with the next push of anybody. */
async function longerHere(
  layout: Layout,
  repository: Repository,
  tip: Tip | undefined,
  rewritten: readonly OriginId[],
): Promise<Map<OriginId, Blob>> {
  const files = new Map<OriginId, Blob>();
  for (const origin of originsHere(layout)) {
    const there = tip?.files.get(origin)?.bytes ?? 0;
    const size = statSync(layout.sync.file(origin), { throwIfNoEntry: false })?.size ?? 0;
    const bytes = size > there && !rewritten.includes(origin) ? wholeBytes(layout.sync.file(origin)) : undefined;
    if (bytes !== undefined && bytes.length > there) files.set(origin, await repository.write(bytes));
  }
  return files;
}
