/**
 * communication.md and archive.md, kept up to date from the journal. Each time only what is new is read; the order of writing makes
 * it safe to be killed anywhere: archive, then communication.md (whole, the one before stays as .bak), then the state. What an
 * archive has beyond the state's length came from a process that died, or from a person: it is kept as archive.md.bak.
 */
import { statSync } from "node:fs";
import { MidwatchError } from "../../core/errors.ts";
import { LINE_DEPTH } from "../../core/json.ts";
import { compareExtent, cutKeeping, type Extent, Growing, place } from "../../disk/grow.ts";
import type { Layout } from "../../disk/layout.ts";
import { takeLock } from "../../disk/lock.ts";
import { readJson, readOwn, replaceFast, replaceKeeping } from "../../disk/replace.ts";
import type { EventLog } from "../engine.ts";
import { Quarantine } from "../quarantine.ts";
import {
  emptyProjection,
  fold,
  type Projection,
  renderCommunication,
  reportOf,
  type SnapshotReport,
} from "./project.ts";
import { BEGIN, END, type Headings } from "./render.ts";

/** It holds the recent interactions whole. */
const STATE_BYTES = 256 << 20;

type SnapshotStep = "recorded" | "folded" | "archived" | "rendered" | "remembered";

export interface SnapshotOptions {
  keep: number;
  headings: Headings;
  /** Made anew from the whole journal. */
  rebuild?: boolean | undefined;
  /** Tests kill at each step. */
  onStep?: ((step: SnapshotStep) => void) | undefined;
}

type Files = Pick<Layout, "events" | "eventsError" | "communication" | "archive" | "snapshotState" | "snapshotLock">;

interface State {
  v: 1;
  projection: Projection;
  archive: Extent;
}

const LOCK_MS = 10_000;
const TITLE = "# Communication Snapshot\n";

export async function takeSnapshot(files: Files, log: EventLog, options: SnapshotOptions): Promise<SnapshotReport> {
  using lock = await takeLock(files.snapshotLock, LOCK_MS);
  if (lock === undefined) {
    throw new MidwatchError("SNAPSHOT_BUSY", "Another process is rendering the snapshot and does not come to an end.", {
      hint: "Try again; a process that stands still (T in `ps`) has to be continued or ended.",
    });
  }
  return await update(files, log, options);
}

async function update(files: Files, log: EventLog, options: SnapshotOptions): Promise<SnapshotReport> {
  const step = options.onStep ?? (() => undefined);
  const state = options.rebuild ? undefined : await usableState(files, log, options.keep);
  const projection = state?.projection ?? emptyProjection(options.keep);
  const before = projection.cursor;
  // A rebuild is made beside the archive that there is, and takes its place when it is whole.
  const target = state === undefined ? `${files.archive}.new` : files.archive;
  using archive = new Growing(target, state?.archive.bytes ?? 0);
  await foldAll(projection, log, new Quarantine(files.eventsError, log, step), (text) => archive.write(text));
  step("folded");
  const extent = archive.sync();
  if (state === undefined) place(target, files.archive, `${files.archive}.bak`);
  step("archived");
  writeCommunication(files.communication, renderCommunication(projection, options.headings));
  step("rendered");
  if (state === undefined || projection.cursor !== before) {
    const next: State = { v: 1, projection, archive: extent };
    replaceFast(files.snapshotState, `${JSON.stringify(next)}\n`);
  }
  step("remembered");
  return reportOf(projection);
}

/** To the end of the journal, and of the errors that reading it adds. */
async function foldAll(
  projection: Projection,
  log: EventLog,
  quarantine: Quarantine,
  archive: (text: string) => void,
): Promise<void> {
  do {
    for await (const item of log.read({ after: projection.cursor ?? undefined })) {
      if ("bad" in item) {
        projection.bad_lines++;
        await quarantine.add(item, Math.max(0, projection.highest));
      } else {
        fold(projection, item.event, archive);
        quarantine.met(item.event);
      }
      projection.cursor = item.next;
    }
  } while (await quarantine.settle());
}

/** The state, when it belongs to this journal, this K and this archive. */
async function usableState(files: Files, log: EventLog, keep: number): Promise<State | undefined> {
  const state = readState(files.snapshotState);
  if (state === undefined || state.projection.keep !== keep) return undefined;
  if (!(await isOf(log, state.projection))) return undefined;
  const compared = compareExtent(files.archive, state.archive);
  if (compared === "different") return undefined;
  if (compared === "longer") cutKeeping(files.archive, state.archive.bytes, `${files.archive}.bak`);
  return state;
}

function readState(path: string): State | undefined {
  const { value } = readJson<State>(path, { bytes: STATE_BYTES, depth: LINE_DEPTH + 8 });
  if (value?.v !== 1 || !Number.isSafeInteger(value.archive?.bytes)) return undefined;
  const { keep, highest, events, recent, archived } = value.projection ?? {};
  // Others may write in this folder: what does not look like a state of ours is none, and everything is made anew.
  const counts = [keep, highest, events].every(Number.isSafeInteger);
  const lists = Array.isArray(archived) && Array.isArray(recent) && recent.every((one) => Array.isArray(one?.events));
  return counts && lists ? value : undefined;
}

/** Whether the journal begins as it did, and has not become shorter. */
async function isOf(log: EventLog, { first, cursor }: Projection): Promise<boolean> {
  if (cursor !== null && !(await log.holds(cursor))) return false;
  if (first === null) return cursor === null;
  for await (const item of log.read()) if (!("bad" in item)) return item.event.id === first;
  return false;
}

/** The highest interaction that the state knows, and where to read on. */
export function knownHighest(files: Files): Pick<Projection, "highest" | "cursor"> {
  const known = readState(files.snapshotState)?.projection;
  return { highest: known?.highest ?? -1, cursor: known?.cursor ?? null };
}

/** What stands before and behind the markers stays as it is. */
function writeCommunication(path: string, body: string): void {
  const text = readOwn(path);
  const aside = `${path}.bak`;
  // A file that lost its end marker was cut off: the last good one tells what stood round it.
  const frame = frameOf(text) ?? frameOf(readOwn(aside)) ?? { head: unmarked(text), foot: "" };
  const next = `${frame.head}${BEGIN}\n${body}${END}\n${frame.foot}`;
  if (next !== text) replaceKeeping(path, next, aside);
}

function frameOf(text: string | undefined): { head: string; foot: string } | undefined {
  const match = text === undefined ? null : FRAME.exec(text);
  return match === null ? undefined : { head: match[1] ?? "", foot: match[2] ?? "" };
}
const FRAME = new RegExp(`^([^]*?(?<![^\\n]))${BEGIN}\\r?\\n[^]*?(?<![^\\n])${END}(?:\\r?\\n|$)([^]*)$`);

/** A file without markers is kept whole, above them. */
function unmarked(text: string | undefined): string {
  if (text === undefined || text === "") return TITLE;
  const head = text.split(BEGIN, 1)[0] ?? "";
  return head === "" || head.endsWith("\n") ? head : `${head}\n`;
}

/** Tells whether one of some files has changed since it was asked last. */
export class Change {
  readonly #paths: readonly string[];
  #last = "";

  constructor(...paths: string[]) {
    this.#paths = paths;
  }

  seen(): boolean {
    const now = this.#paths
      .map((path) => statSync(path, { throwIfNoEntry: false }))
      .map((stat) => (stat === undefined ? "" : `${stat.ino}:${stat.size}`))
      .join();
    const changed = now !== this.#last;
    this.#last = now;
    return changed;
  }

  /** What was done about it failed: it counts as not seen. */
  forget(): void {
    this.#last = "?";
  }
}
