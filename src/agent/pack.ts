/**
 * Compressing one file of a finished run, and back. At every moment the log is whole in at least one place: the archive is
 * written under another name, synced, read back and compared before it gets its name, and only then the plain file goes. To be
 * called under the lock of the run.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { FileReport } from "../core/types.ts";
import { packFile, unpackFrames } from "../disk/archive.ts";
import { anchored, linkMove, removeFile } from "../disk/inside.ts";
import { ArchiveSource } from "../log/archive-source.ts";
import { Log } from "../log/log.ts";
import { type Progress, verify } from "../log/verify.ts";
import { leases } from "../process/keeper.ts";
import type { Context } from "./context.ts";
import type { RunName } from "./launch.ts";
import { logPath } from "./log-path.ts";
import { stat } from "./record.ts";

export interface PackTarget extends RunName {
  newest: boolean;
  /** Lines should be JSON: one that is not is damage. */
  json: boolean;
  stderr: boolean;
}

export interface Packed {
  file: FileReport;
  /** Packed by unpacked; null when there was nothing to pack. */
  ratio: number | null;
}

export function packLog(context: Context, target: PackTarget, progress?: Progress): Packed {
  const { layout } = context;
  const { task, agent, run, newest, stderr } = target;
  const { log: from, index } = logPath(layout, task, agent, run, newest, stderr);
  const paths = layout.run(task, agent, run);
  const name = stderr ? paths.archivedStderr : paths.archivedLog;
  const to = `${name}.zst`;
  const size = stat(from)?.size;
  if (from === to) return told(to, "archived", size ?? null);
  if (size === undefined) return told(from, "missing", null);
  if (size === 0) return told(from, "kept", 0);
  if (leases([from])[0] === "held") return told(from, "failed", size, "a process has it open for writing");
  if (!stderr) {
    if (isDamaged(layout.root, from, index, target.json, progress)) {
      const aside = `${name}.corrupted.${Date.now()}`;
      linkMove(layout.root, from, aside);
      return told(aside, "kept", size, "damaged: kept aside as it is, not compressed");
    }
    linkMove(layout.root, index, paths.archivedIndex);
  }
  const unfinished = `${name}.zst.part`;
  removeFile(layout.root, unfinished);
  const { bytes, packed, sha256 } = write(layout.root, from, unfinished, progress);
  const failed = (error: string): Packed => {
    removeFile(layout.root, unfinished);
    return told(from, "failed", size, error, sha256);
  };
  if (hashOf(layout.root, unfinished) !== sha256 || stat(from)?.size !== bytes)
    return failed("the archive did not read back as it was written");
  if (linkMove(layout.root, unfinished, to) === "exists" && hashOf(layout.root, to) !== sha256)
    return failed(`${basename(to)} exists and holds something else`);
  removeFile(layout.root, unfinished);
  removeFile(layout.root, from);
  return { ...told(to, "archived", size, null, sha256), ratio: packed / bytes };
}

function told(
  path: string,
  action: FileReport["action"],
  bytes: number | null,
  error: string | null = null,
  sha256: string | null = null,
): Packed {
  return { file: { path, action, bytes, sha256, error }, ratio: null };
}

function write(
  root: string,
  from: string,
  to: string,
  progress: Progress | undefined,
): { bytes: number; packed: number; sha256: string } {
  const hash = createHash("sha256");
  let done = 0;
  const each = (bytes: Buffer): void => {
    hash.update(bytes);
    done += bytes.length;
    progress?.(done);
  };
  const { bytes, packed } = anchored(root, from, (source) =>
    anchored(root, to, (target) => packFile(source, target, each), true),
  );
  return { bytes, packed, sha256: hash.digest("hex") };
}

/** Bytes that are not what the keeper saw, or lines that should be JSON and are not. A torn last line is no damage. */
function isDamaged(root: string, path: string, index: string, json: boolean, progress: Progress | undefined): boolean {
  const log = anchored(root, path, (safe) => Log.open(safe, index, { type: "stdout", json }));
  if (log === undefined) return false;
  try {
    const { index: state, bad_count, partial } = verify(log, log.source.size(), progress);
    return state === "wrong" || bad_count > (partial ? 1 : 0);
  } finally {
    log.close();
  }
}

/** Brings the plain file back to where readers look for it first; the archive goes after it. */
export function unpackLog(context: Context, { task, agent, run, newest, stderr }: PackTarget): FileReport {
  const { root } = context.layout;
  const paths = context.layout.run(task, agent, run);
  const current = context.layout.agent(task, agent);
  const archived = stderr ? paths.archivedStderr : paths.archivedLog;
  const packed = `${archived}.zst`;
  const plain = newest ? (stderr ? current.stderr : current.log) : archived;
  const source = openArchive(root, packed);
  if (source === undefined) {
    const bytes = stat(plain)?.size ?? null;
    return told(plain, bytes === null ? "missing" : "kept", bytes).file;
  }
  const unfinished = `${plain}.part`;
  try {
    removeFile(root, unfinished);
    const hash = createHash("sha256");
    const frame = (i: number): Buffer => source.frame(i);
    const each = (bytes: Buffer): void => void hash.update(bytes);
    const mtime = stat(packed)?.mtimeMs;
    anchored(root, unfinished, (safe) => unpackFrames(safe, source.frames.length, frame, each, mtime), true);
    if (linkMove(root, unfinished, plain) === "exists" && stat(plain)?.size !== source.size()) {
      removeFile(root, unfinished);
      return told(packed, "failed", null, `${basename(plain)} exists and holds something else`).file;
    }
    removeFile(root, unfinished);
    if (!stderr && newest) linkMove(root, paths.archivedIndex, current.index);
    removeFile(root, packed);
    return told(plain, "kept", source.size(), null, hash.digest("hex")).file;
  } finally {
    source.close();
  }
}

function openArchive(root: string, path: string): ArchiveSource | undefined {
  return stat(path) === undefined ? undefined : anchored(root, path, (safe) => ArchiveSource.open(safe));
}

function hashOf(root: string, path: string): string | undefined {
  const source = openArchive(root, path);
  if (source === undefined) return undefined;
  try {
    const hash = createHash("sha256");
    for (let i = 0; i < source.frames.length; i++) hash.update(source.frame(i));
    return hash.digest("hex");
  } finally {
    source.close();
  }
}
