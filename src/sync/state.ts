/** How sync stands: `sync/state.json`, what `sync --status` and `health` say of it, and events.offline.log. */
import { isOriginId } from "../core/ids.ts";
import { removeFile } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import { readJson, replace, replaceFast } from "../disk/replace.ts";
import { readEvent } from "../journal/event.ts";
import { backward, wholeEnd } from "../log/lines.ts";
import { FileSource } from "../log/source.ts";
import { lastOwn } from "./export.ts";
import { type SyncFault, WHAT_NEXT } from "./fault.ts";
import { originsHere, readOrigin } from "./origin.ts";

/** `offline`: tried in vain, and tried again now and then. `stopped`: somebody has to do something. */
type SyncWord = "never" | "ok" | "offline" | "stopped";

export interface SyncState {
  v: 1;
  state: SyncWord;
  fault: SyncFault | null;
  message: string | null;
  remote: string;
  branch: string;
  /** When this state began. */
  since: string;
  tried_at: string;
  synced_at: string | null;
  /** In a row. */
  failures: number;
  /** Events of ours that the remote has. */
  synced: number;
  /** Origins whose file at the remote does not continue the one here. */
  rewritten: string[];
  /** Stands for the credentials with which it was tried. */
  credentials: string;
}

/** How the exchange with the remote fares. */
export interface SyncStatus extends Omit<SyncState, "v" | "credentials"> {
  /** What a person can do. */
  hint: string | null;
  origin: string;
  /** Events of ours that wait for the remote. */
  waiting: number;
  /** Workspaces whose events are here, this one included. */
  origins: string[];
}

export function readState({ sync }: Layout): SyncState | undefined {
  const { value } = readJson<SyncState>(sync.state);
  return value?.v === 1 && Number.isSafeInteger(value.synced) ? value : undefined;
}

export function keepState({ sync }: Layout, state: SyncState): void {
  replace(sync.state, `${JSON.stringify(state)}\n`);
}

/** Undefined when this workspace was never synced. */
export function syncStatus(layout: Layout): SyncStatus | undefined {
  const origin = readOrigin(layout);
  if (origin === undefined) return undefined;
  const {
    v: _v,
    credentials: _credentials,
    ...known
  } = readState(layout) ?? {
    ...{ v: 1, state: "never" as const, fault: null, message: null, remote: "", branch: "", since: origin.since },
    ...{ tried_at: origin.since, synced_at: null, failures: 0, synced: 0, rewritten: [], credentials: "" },
  };
  const waiting = Math.max(0, (lastOwn(layout, origin)?.n ?? 0) - known.synced);
  const hint = known.fault === null ? null : WHAT_NEXT[known.fault];
  return { ...known, hint, origin: origin.origin, waiting, origins: originsHere(layout) };
}

/** events.offline.log: the events of ours that the remote does not have, as they will go out. Gone when there are none. */
export function showWaiting(layout: Layout, synced: number): void {
  const origin = readOrigin(layout);
  const names = origin === undefined ? [] : [...origin.before, origin.origin].filter(isOriginId);
  const parts = names.map((name) => linesAfter(layout.sync.file(name), synced));
  const bytes = Buffer.concat(parts);
  if (bytes.length > 0) replaceFast(layout.eventsOffline, bytes);
  else removeFile(layout.root, layout.eventsOffline);
}

function linesAfter(path: string, n: number): Buffer {
  using source = FileSource.open(path);
  if (source === undefined) return Buffer.alloc(0);
  const end = wholeEnd(source, source.size());
  let from = end;
  for (const { start, end: lineEnd } of backward(source, end)) {
    const line = Buffer.alloc(lineEnd - start);
    source.read(line, start);
    const number = readEvent(line, start).event?.["n"];
    if (typeof number === "number" && number <= n) break;
    from = start;
  }
  const bytes = Buffer.alloc(end - from);
  source.read(bytes, from);
  return bytes;
}
