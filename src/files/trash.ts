/**
 * The trash: `trash/<time>-<id>/` holds a manifest and, below files/, what was taken away, at the same paths as before. Where things
 * go back to follows from where they lie; no path is ever read from a file.
 */
import { join } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import { type AgentId, isAgentId, isTaskId, type TaskId } from "../core/ids.ts";
import type { TaskFact } from "../core/intent.ts";
import { has, listOf, maybe, orNull, quantity, type Shape, text, time } from "../core/shape/shape.ts";
import { iso } from "../core/time.ts";
import { makeFolder, namesIn, removeFile, removeTree } from "../disk/inside.ts";
import { moveTree } from "../disk/move.ts";
import { readJson } from "../disk/replace.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { readFolders } from "../facts/folders.ts";
import { writeView } from "../facts/view.ts";
import { type Context, withWriter } from "../workspace/context.ts";

export interface Manifest {
  v: 1;
  /** An agent, or null for a whole task. */
  agent: AgentId | null;
  /** Those that went with it. */
  agents: AgentId[];
  task: TaskId;
  why: string;
  bytes: number;
  at: string;
  task_fact: TaskFact;
}

const MANIFEST: Shape = {
  agent: orNull(isAgentId),
  agents: listOf(isAgentId),
  task: isTaskId,
  why: text,
  bytes: quantity,
  at: time,
  task_fact: maybe(orNull(has({}))),
};

export interface TrashItem {
  /** The folder's name. */
  id: string;
  /** An agent id or a task id. */
  of: string;
  /** When it was taken away, from the name. */
  at: number;
  manifest: Manifest | undefined;
}

const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-(.+)$/;

/** `20261115T190000123Z-build-190000-1a2b3c`; all of one prune have the same time. */
export function itemId(atMs: number, of: string): string {
  return `${iso(atMs).replace(/[-:.]/g, "")}-${of}`;
}

/** Oldest first. */
export function listTrash({ layout }: Context): TrashItem[] {
  const found = namesIn(layout.root, layout.trash).flatMap((id) => {
    const [, year, month, day, hour, minute, second, ms, of = ""] = NAME.exec(id) ?? [];
    if (!isAgentId(of) && !isTaskId(of)) return [];
    const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
    let manifest: Manifest | undefined | null = null;
    // Read when it is asked for, once: most looks need the names only.
    const read = (): Manifest | undefined =>
      readJson<Manifest>(join(layout.trash, id, "manifest.json"), { shape: MANIFEST }).value;
    return [
      {
        id,
        of,
        at,
        get manifest() {
          if (manifest === null) manifest = read();
          return manifest;
        },
      },
    ];
  });
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Moves the paths (below the workspace) away; one failure does not stop the rest. Returns what failed. */
export function putIntoTrash({ layout }: Context, id: string, manifest: Manifest, paths: readonly string[]): string[] {
  const { root } = layout;
  const dir = join(layout.trash, id);
  makeFolder(root, dir);
  replaceInside(root, join(dir, "manifest.json"), `${JSON.stringify(manifest)}\n`);
  return paths.flatMap((path) => {
    try {
      return moveTree(root, path, join("trash", id, "files", path)).map((left) => `${left}: its place is taken`);
    } catch (error) {
      return [`${path}: ${toMidwatchError(error).message}`];
    }
  });
}

/**
 * Everything back to its place, and its rows to the registry: of each task once, however many came back to it. What cannot go back stays in
 * the trash and is returned, by the id of the item; one failure does not stop the rest.
 */
export function takeFromTrash(context: Context, items: readonly TrashItem[]): Map<string, string[]> {
  const left = new Map(items.map(({ id }) => [id, [] as string[]]));
  const failed = (id: string, error: unknown): void => void left.get(id)?.push(toMidwatchError(error).message);
  const back = new Map<TaskId, TrashItem[]>();
  for (const item of items) {
    try {
      const moved = moveBack(context, item);
      left.set(item.id, moved.left);
      for (const task of moved.tasks) back.set(task, [...(back.get(task) ?? []), item]);
    } catch (error) {
      failed(item.id, error);
    }
  }
  for (const [task, of] of back) {
    try {
      remember(context, task, of);
    } catch (error) {
      for (const { id } of of) failed(id, error);
    }
  }
  for (const [id, problems] of left) {
    try {
      if (problems.length === 0) removeTree(context.layout.root, join("trash", id));
    } catch (error) {
      failed(id, error);
    }
  }
  return left;
}

function moveBack({ layout: { root } }: Context, { id }: TrashItem): { left: string[]; tasks: TaskId[] } {
  const files = join("trash", id, "files");
  const left: string[] = [];
  const names = namesIn(root, files);
  for (const name of names) {
    if (isTaskId(name))
      removeFile(root, join(files, name, "AGENT_REGISTRY.json")); // A view; it is made again.
    else if (name !== "worktrees") continue;
    try {
      left.push(...moveTree(root, join(files, name), name));
    } catch (error) {
      left.push(`${join(files, name)}: ${toMidwatchError(error).message}`);
    }
  }
  return { left, tasks: names.filter(isTaskId) };
}

function remember(context: Context, task: TaskId, items: readonly TrashItem[]): void {
  const { layout } = context;
  const { fact } = layout.task(task);
  const known = items.find(({ manifest }) => manifest?.task_fact)?.manifest;
  if (known !== undefined && readJson(fact).value === undefined)
    replaceInside(layout.root, fact, `${JSON.stringify({ ...known.task_fact, task }, null, 1)}\n`);
  const { agents, runs, files = [], reports = [], tasks } = readFolders(layout, task);
  const ids = new Set(items.map(({ of }) => of));
  const mine = (agent: AgentId): boolean => ids.has(task) || ids.has(agent);
  const contents = {
    tasks,
    agents: agents.filter(({ id }) => mine(id)),
    runs: runs.filter(({ agent }) => mine(agent)),
    files: files.filter(({ agent }) => mine(agent)),
    reports: reports.filter(({ agent }) => mine(agent)),
  };
  withWriter(context, (registry) => registry.putBack(contents));
  writeView(context, task);
}
