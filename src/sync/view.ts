/**
 * communication.md and archive.md of the branch, so that people can read the journal where it lies. They are made of the very files that are
 * pushed beside them and of nothing else, so every machine that pushes the same events pushes the same bytes, and nothing can conflict.
 * Made in a folder of their own, because around the local ones may stand text of this machine alone.
 */
import type { OriginId } from "../core/ids.ts";
import { makeFolder, removeFile } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import type { EventLog } from "../journal/engine.ts";
import type { Headings } from "../journal/snapshot/render.ts";
import { takeSnapshot } from "../journal/snapshot/snapshot.ts";
import { FileSource } from "../log/source.ts";
import { AllOrigins } from "./all-origins.ts";
import type { Blob, Repository } from "./repository.ts";

/** How a machine renders: as its own snapshot does. */
export interface ViewOptions {
  keep: number;
  headings: Headings;
}

/** Hosts of git refuse files of 100 MB; whoever wants more has the events. */
const ARCHIVE_MAX = 16 << 20;
const HEADING = "\n## Interaction #";

/** Gives what the branch is to show, by name. */
export async function viewOf(
  layout: Layout,
  log: EventLog,
  repository: Repository,
  pushed: ReadonlyMap<OriginId, Blob>,
  options: ViewOptions,
): Promise<Map<string, Blob>> {
  const { view } = layout.sync;
  makeFolder(layout.root, view.dir);
  // Nothing that somebody wrote there goes out.
  for (const path of [view.communication, `${view.communication}.bak`]) removeFile(layout.root, path);
  const ends = new Map([...pushed].map(([origin, { bytes }]) => [origin, bytes]));
  const files = { events: layout.events, eventsError: layout.eventsError, ...view };
  await takeSnapshot(files, new AllOrigins(layout, log, () => (event) => event, ends), options);
  const shown = new Map<string, Blob>();
  for (const [name, path] of [
    ["communication.md", view.communication],
    ["archive.md", view.archive],
  ] as const)
    shown.set(name, await repository.write(lastPart(path)));
  return shown;
}

/** A long archive without its oldest interactions. */
function lastPart(path: string): Buffer {
  using source = FileSource.open(path);
  if (source === undefined) return Buffer.alloc(0);
  const from = Math.max(0, source.size() - ARCHIVE_MAX);
  const bytes = Buffer.alloc(source.size() - from);
  source.read(bytes, from);
  if (from === 0) return bytes;
  const note = "The interactions before these are in events/ only.\n";
  return Buffer.concat([Buffer.from(note), bytes.subarray(Math.max(0, bytes.indexOf(HEADING)))]);
}
