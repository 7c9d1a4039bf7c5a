/**
 * Writing in folders that agents can change: as replace.ts and append.ts do it, but with the way from the workspace's root held
 * open, so that a folder swapped for a link leads nobody outside.
 */
import { type AppendOptions, append } from "./append.ts";
import { anchored } from "./inside.ts";
import { createExclusive, replace, replaceFast } from "./replace.ts";

type Data = string | Uint8Array;

export function replaceInside(root: string, path: string, data: Data): void {
  anchored(root, path, (safe) => replace(safe, data));
}

export function replaceFastInside(root: string, path: string, data: Data): void {
  anchored(root, path, (safe) => replaceFast(safe, data));
}

export function createInside(root: string, path: string, data: Data): boolean {
  return anchored(root, path, (safe) => createExclusive(safe, data));
}

export function appendInside(root: string, path: string, records: readonly object[], options?: AppendOptions): void {
  anchored(root, path, (safe) => append(safe, records, options));
}
