/** What the tests of the journal share. No vitest in here: the soak uses it too. */
import { readFileSync } from "node:fs";
import { layout } from "../../../src/disk/layout.ts";
import { EmbeddedLog } from "../../../src/journal/embedded.ts";
import type { BadLine, Stored } from "../../../src/journal/engine.ts";
import { headingsOf } from "../../../src/journal/snapshot/render.ts";
import { type SnapshotOptions, takeSnapshot } from "../../../src/journal/snapshot/snapshot.ts";

export interface JournalRead {
  stored: Stored[];
  bad: BadLine["bad"][];
}

export async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

export async function readJournal(root: string): Promise<JournalRead> {
  const read: JournalRead = { stored: [], bad: [] };
  for await (const item of new EmbeddedLog(layout(root).events).read())
    "bad" in item ? read.bad.push(item.bad) : read.stored.push(item);
  return read;
}

export async function snapshotOf(root: string, more: Partial<SnapshotOptions> = {}): ReturnType<typeof takeSnapshot> {
  const log = new EmbeddedLog(layout(root).events);
  try {
    return await takeSnapshot(layout(root), log, { keep: 3, headings: headingsOf(undefined), ...more });
  } finally {
    await log.close();
  }
}

/** A file of the workspace as text; empty when there is none. */
export function fileOf(root: string, name: string): string {
  try {
    return readFileSync(`${root}/${name}`, "utf8");
  } catch {
    return "";
  }
}
