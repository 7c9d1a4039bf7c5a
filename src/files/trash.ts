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
    const manifest = readJson<Manifest>(join(layout.trash, id, "manifest.json"), { shape: MANIFEST }).value;
    return [{ id, of, at, manifest }];
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

/** Everything back to its place, and its rows to the registry. What cannot go back stays in the trash and is returned. */
export function takeFromTrash(context: Context, { id, of, manifest }: TrashItem): string[] {
  const { layout } = context;
  const { root } = layout;
  const files = join("trash", id, "files");
  const left: string[] = [];
  const tasks = new Set<TaskId>();
  for (const name of namesIn(root, files)) {
    if (isTaskId(name)) {
      tasks.add(name);
      removeFile(root, join(files, name, "AGENT_REGISTRY.json")); // A view; it is made again.
    } else if (name !== "worktrees") continue;
    try {
      left.push(...moveTree(root, join(files, name), name));
    } catch (error) {
      left.push(`${join(files, name)}: ${toMidwatchError(error).message}`);
    }
  }
  for (const task of tasks) {
    const fact = layout.task(task).fact;
    if (readJson(fact).value === undefined && manifest?.task_fact)
      replaceInside(root, fact, `${JSON.stringify({ ...manifest.task_fact, task }, null, 1)}\n`);
    const { agents, runs, files: tracked = [], reports = [], tasks: known } = readFolders(layout, task);
    const mine = (agent: AgentId): boolean => isTaskId(of) || agent === of;
    const contents = {
      tasks: known,
      agents: agents.filter(({ id: agent }) => mine(agent)),
      runs: runs.filter(({ agent }) => mine(agent)),
      files: tracked.filter(({ agent }) => mine(agent)),
      reports: reports.filter(({ agent }) => mine(agent)),
    };
    withWriter(context, (registry) => registry.putBack(contents));
    writeView(context, task);
  }
  if (left.length === 0) removeTree(root, join("trash", id));
  return left;
}
