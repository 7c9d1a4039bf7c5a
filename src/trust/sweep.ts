/**
 * Records in the state folder that are of no use any more: of a workspace, its companion or a configuration that has been gone for a month, seen twice at
 * least (a disk that is not mounted comes back), of what was to be carried out later by a run whose files are gone, and of what was told long ago.
 */
import { existsSync } from "node:fs";
import { iso } from "../core/time.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";

/** As far as it matters here. */
interface AnyRecord {
  path?: string;
  /** Since when a sweep has not found it. */
  gone_since?: string | undefined;
  at?: string;
}

const DAY_MS = 24 * 3_600_000;
const GONE_MS = 30 * DAY_MS;

/** Of each kind as many as `most`, beginning anywhere; gives how many went. */
export function sweep(state: StateFolder, most: number = Number.POSITIVE_INFINITY, nowMs: number = Date.now()): number {
  let removed = 0;
  for (const kind of ["workspaces", "configs", "later", "companions", "budgets", "told", "heard"] as const) {
    const names = state.names(kind);
    const first = Math.floor(Math.random() * names.length);
    for (const name of [...names.slice(first), ...names.slice(0, first)].slice(0, most)) {
      const record = state.read<AnyRecord>(kind, name);
      if (record === undefined) continue;
      const found = kind === "later" || kind === "told" ? later(record, nowMs) : placed(record, nowMs);
      if (found === "stale") {
        state.remove(kind, name);
        removed++;
      } else if (found !== "kept") state.write(kind, name, found);
    }
  }
  return removed;
}

function placed(record: AnyRecord, nowMs: number): AnyRecord | "stale" | "kept" {
  const { path, gone_since } = record;
  if (path === undefined) return "kept";
  if (existsSync(path)) return gone_since === undefined ? "kept" : { ...record, gone_since: undefined };
  if (gone_since === undefined) return { ...record, gone_since: iso(nowMs) };
  return nowMs - Date.parse(gone_since) > GONE_MS ? "stale" : "kept";
}

/** It is recorded before its file is written: a young one may still come. */
function later({ path, at = "" }: AnyRecord, nowMs: number): "stale" | "kept" {
  const ageMs = nowMs - Date.parse(at);
  if (path === undefined) return ageMs > GONE_MS ? "stale" : "kept";
  return ageMs > DAY_MS && !existsSync(path) ? "stale" : "kept";
}
