/**
 * The name under which this workspace's events go out, `sync/origin.json`. An origin has one writer, so nothing that two machines
 * wrote can ever conflict. A new name is taken when the file has become large, and when somebody else turns out to write under ours
 * (a workspace that was copied with all its files).
 */
import { hostname } from "node:os";
import { isOriginId, newOriginId, type OriginId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { makeFolder, namesIn } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import { createExclusive, readJson, replace } from "../disk/replace.ts";

export interface Origin {
  v: 1;
  origin: OriginId;
  /** Names that this workspace had before; the newest last. */
  before: OriginId[];
  since: string;
}

/** Undefined in a workspace that was never synced. */
export function readOrigin({ sync }: Layout): Origin | undefined {
  const { value } = readJson<Partial<Origin>>(sync.origin);
  if (value?.v !== 1 || !isOriginId(value.origin)) return undefined;
  const before = Array.isArray(value.before) ? value.before.filter(isOriginId) : [];
  return { v: 1, origin: value.origin, before, since: String(value.since) };
}

export function makeOrigin(layout: Layout): Origin {
  const { root, sync } = layout;
  const known = readOrigin(layout);
  if (known !== undefined) return known;
  makeFolder(root, sync.events);
  const made: Origin = { v: 1, origin: newOriginId(hostname()), before: [], since: iso() };
  if (!createExclusive(sync.origin, `${JSON.stringify(made)}\n`) && readOrigin(layout) === undefined)
    replace(sync.origin, `${JSON.stringify(made)}\n`); // What stood there was none.
  return readOrigin(layout) ?? made;
}

/** The next events go out under another name. The old file stays as it is. */
export function renewOrigin(layout: Layout, before: OriginId[]): Origin {
  const made: Origin = { v: 1, origin: newOriginId(hostname()), before, since: iso() };
  replace(layout.sync.origin, `${JSON.stringify(made)}\n`);
  return made;
}

/** All whose events are here, sorted. */
export function originsHere({ root, sync }: Layout): OriginId[] {
  const names = namesIn(root, sync.events).filter((name) => name.endsWith(".jsonl"));
  return names
    .map((name) => name.slice(0, -".jsonl".length))
    .filter(isOriginId)
    .sort();
}
