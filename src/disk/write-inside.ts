/**
 * Writing in folders that agents can change: as replace.ts and append.ts do it, but with the way from the workspace's root held
 * open, so that a folder swapped for a link leads nobody outside.
 */
import { type AppendOptions, append } from "./append.ts";
import { assertMayWrite } from "./guard/only-read.ts";
import { anchored } from "./inside.ts";
import { createExclusive, replace, replaceFast } from "./replace.ts";

type Data = string | Uint8Array;

export function replaceInside(root: string, path: string, data: Data): void {
  into(root, path, (safe) => replace(safe, data));
}

export function replaceFastInside(root: string, path: string, data: Data): void {
  into(root, path, (safe) => replaceFast(safe, data));
}

export function createInside(root: string, path: string, data: Data): boolean {
  return into(root, path, (safe) => createExclusive(safe, data));
}

export function appendInside(root: string, path: string, records: readonly object[], options?: AppendOptions): void {
  into(root, path, (safe) => append(safe, records, options));
}

function into<T>(root: string, path: string, act: (safe: string) => T): T {
  assertMayWrite(root);
  return anchored(root, path, act);
}
