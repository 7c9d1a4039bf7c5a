/**
 * A workspace is this user's, on this machine, at this place. Its making is recorded in the state folder: id, machine, path and inode. One
 * that was committed, copied, moved, or made by a version without records is data: it can be read, and nothing in it is adopted, started,
 * signalled, deleted or loaded until a person takes it over.
 */
import { randomBytes } from "node:crypto";
import { type Stats, statSync } from "node:fs";
import { iso } from "../core/time.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";
import { namesIn } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import { createExclusive, readJson, replace } from "../disk/replace.ts";
import { machineId } from "./machine.ts";
import { sweep } from "./sweep.ts";

/** workspace.json: which workspace this is. It says nothing by itself: the record in the state folder does. */
interface WorkspaceFact {
  v: 1;
  id: string;
  made_at: string;
}

/** workspaces/<id>.json in the state folder. */
interface WorkspaceRecord {
  v: 1;
  id: string;
  machine: string;
  path: string;
  ino: number;
  /** When the folder was made, in ms; 0 where the file system does not tell. */
  birth_ms: number;
  recorded_at: string;
}

/** Why a workspace is not ours; undefined when it is. `old`: there is no record because it was made before there were any. */
export interface Ownership {
  why: string | undefined;
  old?: boolean;
  /** Its own, of one that is ours by its record. */
  id?: string;
}

const ID = /^[0-9a-f]{32}$/;
/** Who makes one looks at a few others of each kind. A record goes at the second look: three for each that comes are enough. */
const SWEPT = 3;
/** What a workspace has before anything is in it, and what others who make it at the same time are just writing there. */
const FRESH = /^(\.gitignore|active|workspace\.json|\.write-test\..*|\..+\.[0-9a-f]{12}\.tmp)$/;

/** Living keepers that keep a run of this workspace; asked only where it decides. */
export interface Keepers {
  any(): boolean;
  /** One of them started this process: we are part of a run of this workspace, whatever our HOME is. */
  above(): boolean;
}

export function ownership(layout: Layout, state: StateFolder, keepers: Keepers): Ownership {
  const found = recordedOwnership(layout, state, keepers);
  return found.why !== undefined && keepers.above() ? { why: undefined } : found;
}

function recordedOwnership(layout: Layout, state: StateFolder, keepers: Keepers): Ownership {
  const id = idOf(layout);
  if (id === undefined) return { why: "it was made by midwatch 0.1 or somewhere else", old: true };
  const record = state.read<WorkspaceRecord>("workspaces", id);
  if (record === undefined) return { why: "you did not make it here" };
  if (record.machine !== machineId()) return { why: "it was made on another machine" };
  if (record.path !== layout.root) return { why: `it was made at ${record.path}` };
  if (isSameFolder(record, statSync(layout.root))) return { why: undefined, id };
  // Its folder was deleted while agents ran, and their keepers made it again.
  if (!keepers.any()) return { why: "its folder was replaced" };
  recordWorkspace(layout, state, id);
  return { why: undefined, id };
}

function isSameFolder({ ino, birth_ms }: WorkspaceRecord, now: Stats): boolean {
  return ino === now.ino && (birth_ms === 0 || birth_ms === Math.trunc(now.birthtimeMs));
}

/** Makes it ours when nothing is in it yet: then nothing in it can be somebody else's. */
export function recordIfFresh(layout: Layout, state: StateFolder): void {
  if (idOf(layout) !== undefined || !isFresh(layout)) return;
  const id = newId();
  // The record first: whoever finds the id finds its record too.
  recordWorkspace(layout, state, id);
  if (!createExclusive(layout.workspaceFact, factText(id))) state.remove("workspaces", id); // Another process made it meanwhile.
  sweep(state, SWEPT);
}

/** A person said so. It gets an id of its own, which no copy of it has. */
export function takeOver(layout: Layout, state: StateFolder): void {
  const id = newId();
  recordWorkspace(layout, state, id);
  replace(layout.workspaceFact, factText(id));
}

function isFresh({ root, active }: Layout): boolean {
  const others = namesIn(root, root).filter((name) => !FRESH.test(name));
  return others.length === 0 && namesIn(root, active).length === 0;
}

function idOf({ workspaceFact }: Layout): string | undefined {
  const { id } = readJson<Partial<WorkspaceFact>>(workspaceFact).value ?? {};
  return typeof id === "string" && ID.test(id) ? id : undefined;
}

function recordWorkspace({ root }: Layout, state: StateFolder, id: string): void {
  const { ino, birthtimeMs } = statSync(root);
  const birth_ms = Math.trunc(birthtimeMs);
  const record: WorkspaceRecord = { v: 1, id, machine: machineId(), path: root, ino, birth_ms, recorded_at: iso() };
  state.write("workspaces", id, record);
}

const newId = (): string => randomBytes(16).toString("hex");
const factText = (id: string): string => `${JSON.stringify({ v: 1, id, made_at: iso() } satisfies WorkspaceFact)}\n`;
