/** Every file and folder that midwatch keeps for an agent, present or not. */

import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  type Stats,
} from "node:fs";
import { join } from "node:path";
import type { IntentFact } from "../core/intent.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, FileKind, TrackedFile } from "../core/types.ts";
import { errno } from "../disk/fault.ts";
import type { Layout } from "../disk/layout.ts";
import { readFact } from "../disk/sealed.ts";
import type { RunName } from "../workspace/context.ts";
import { SHAPES } from "./fact-shapes.ts";
import { logPath } from "./log-path.ts";

/** A file above this size is hashed when it is archived. */
const HASH_MAX_BYTES = 1 << 20;
/** Counting stops here: a worktree may hold a million files, and nobody waits for that. */
const ENTRIES_MAX = 20_000;

/**
 * As they are now. `bytes` is null for what is not there (and for a folder too large to count); `sha256` is known once the run
 * was cleaned up, and only while the file is what it was then.
 */
export function trackedFiles(
  layout: Layout,
  { task, agent, run }: RunName,
  intent: IntentFact | undefined = readIntent(layout, { task, agent, run }),
): TrackedFile[] {
  const paths = layout.agent(task, agent);
  const of = layout.run(task, agent, run);
  const logs = logPath(layout, { task, agent, run, newest: true });
  const reports = (plain: string, archived: string): string => (!lstat(plain) && lstat(archived) ? archived : plain);
  const hasWorktree = typeof intent?.worktree === "string";
  const kinds: [FileKind, string][] = [
    ["prompt", paths.prompt],
    ["log", logs.log],
    ["stderr", logPath(layout, { task, agent, run, newest: true, stderr: true }).log],
    ["index", logs.index],
    ["deploy", paths.deploy],
    ["progress", reports(paths.progress, of.archivedProgress)],
    ["findings", reports(paths.findings, of.archivedFindings)],
    ["run", lstat(of.sealed) ? of.sealed : of.dir],
    ["summaries", paths.summaries],
    ...(hasWorktree ? [["worktree", layout.worktree(agent)] as [FileKind, string]] : []),
  ];
  const said = readFact<CleanupFact>(of, of.cleanup, SHAPES["cleanup.json"]);
  const known = new Map(said?.files.map((file) => [file.path, file]));
  return kinds.map(([kind, path]) => {
    const file = lstat(path);
    const then = known.get(path);
    const same = then?.action === "archived" || then?.bytes === file?.size;
    return {
      path,
      kind,
      bytes: file?.isDirectory() ? folderBytes(path) : (file?.size ?? null),
      created_at: file ? iso(Math.trunc(file.birthtimeMs)) : null,
      sha256: file?.isFile() && same ? (then?.sha256 ?? null) : null,
    };
  });
}

function readIntent(layout: Layout, { task, agent, run }: RunName): IntentFact | undefined {
  const of = layout.run(task, agent, run);
  return readFact<IntentFact>(of, of.intent);
}

/** The hash of a small file; null for a large one and for anything that is no plain file. */
export function smallHash(path: string): string | null {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const file = fstatSync(fd);
    if (!file.isFile() || file.size > HASH_MAX_BYTES) return null;
    return createHash("sha256").update(readFileSync(fd)).digest("hex");
  } catch {
    return null;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** What is in it, links not followed; null when that cannot be told, or there is too much of it. */
export function folderBytes(path: string, most: number = ENTRIES_MAX): number | null {
  let left = most;
  const sum = (at: string): number => {
    let bytes = 0;
    for (const entry of entriesOf(at)) {
      if (left-- <= 0) throw new RangeError("too many entries");
      const inner = join(at, entry.name);
      bytes += entry.isDirectory() ? sum(inner) : (lstat(inner)?.size ?? 0);
    }
    return bytes;
  };
  try {
    return sum(path);
  } catch {
    return null;
  }
}

/** Empty when it has just been removed. */
function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (errno(error) === "ENOENT") return [];
    throw error;
  }
}

export function lstat(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
