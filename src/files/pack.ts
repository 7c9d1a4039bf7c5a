/**
 * Compressing one file of a finished run, and back. At every moment the log is whole in at least one place: the archive is
 * written under another name, synced, read back and compared before it gets its name, and only then the plain file goes. To be
 * called under the lock of the run.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { follow, type Progress, type Steps } from "../core/progress.ts";
import type { FileReport } from "../core/types.ts";
import { packFile, unpackFrames } from "../disk/archive.ts";
import { errno } from "../disk/fault.ts";
import { anchored, anchoredSteps, linkMove, removeFile } from "../disk/inside.ts";
import { logPath } from "../facts/log-path.ts";
import { stat } from "../facts/record.ts";
import { ArchiveSource } from "../log/archive-source.ts";
import { Log } from "../log/log.ts";
import { FileSource } from "../log/source.ts";
import { verify } from "../log/verify.ts";
import type { Lease } from "../process/keeper.ts";
import type { ArchiveStep, Context, RunName } from "../workspace/context.ts";
import { fileReport, isDamaged, unpacked } from "./cleanup-plan.ts";

const STEP_FRAMES = 8;

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

export async function packLog(
  context: Context,
  target: PackTarget,
  progress: Progress | undefined,
  leases: (paths: string[]) => Lease[],
): Promise<Packed> {
  const { root } = context.layout;
  const step = stepOf(context);
  const { task, agent, run, newest, stderr } = target;
  const { log: from, index } = logPath(context.layout, { task, agent, run, newest, stderr });
  const paths = context.layout.run(task, agent, run);
  const name = stderr ? paths.archivedStderr : paths.archivedLog;
  const to = `${name}.zst`;
  const before = stat(from);
  const size = before?.size ?? null;
  const file = unpacked(from, to, size, () => leases([from])[0] === "held");
  if (file !== undefined) return { file, ratio: null };
  if (!stderr) {
    if (await looksDamaged(root, from, index, target.json, progress)) {
      const aside = `${name}.corrupted.${Date.now()}`;
      linkMove(root, from, aside);
      const why = "damaged: kept aside as it is, not compressed";
      return { file: fileReport(aside, "kept", size, why), ratio: null };
    }
    step("checked");
    // From where it was first: killed just here before, it lies in the archive already.
    if (newest) linkMove(root, context.layout.agent(task, agent).index, paths.archivedIndex);
    step("index moved");
  }
  const unfinished = `${name}.zst.part`;
  removeFile(root, unfinished);
  const hash = createHash("sha256");
  const packing = anchoredSteps(root, from, (source) =>
    anchoredSteps(root, unfinished, (safe) => packFile(source, safe, (bytes) => hash.update(bytes)), true),
  );
  const packed = await follow(packing, "packed", progress);
  step("packed");
  const sha256 = hash.digest("hex");
  const failed = (error: string): Packed => {
    removeFile(root, unfinished);
    return { file: fileReport(from, "failed", size, error, sha256), ratio: null };
  };
  const readBack = await follow(hashOf(root, unfinished), "compared", progress);
  const now = stat(from); // A restart may have moved it meanwhile, and another run's log has its name.
  if (readBack !== sha256 || now?.size !== packed.bytes || now.ino !== before?.ino)
    return failed("the archive did not read back as it was written");
  step("compared");
  if (linkMove(root, unfinished, to) === "exists" && (await follow(hashOf(root, to), "compared")) !== sha256)
    return failed(`${basename(to)} exists and holds something else`);
  step("placed");
  removeFile(root, unfinished);
  removeFile(root, from);
  step("removed");
  return { file: fileReport(to, "archived", size, null, sha256), ratio: packed.packed / packed.bytes };
}

function stepOf({ onStep }: Context): (step: ArchiveStep) => void {
  return onStep ?? (() => undefined);
}

async function looksDamaged(
  root: string,
  path: string,
  index: string,
  json: boolean,
  progress: Progress | undefined,
): Promise<boolean> {
  const log = anchored(root, path, (safe) => Log.open(safe, index, { type: "stdout", json }));
  if (log === undefined) return false;
  try {
    return isDamaged(await follow(verify(log, log.source.size()), "checked", progress));
  } finally {
    log.close();
  }
}

/** Brings the plain file back to where readers look for it first; the archive goes after it. */
export async function unpackLog(
  context: Context,
  { task, agent, run, newest, stderr }: PackTarget,
  progress?: Progress,
): Promise<FileReport> {
  const { root } = context.layout;
  const step = stepOf(context);
  const paths = context.layout.run(task, agent, run);
  const current = context.layout.agent(task, agent);
  const archived = stderr ? paths.archivedStderr : paths.archivedLog;
  const packed = `${archived}.zst`;
  const plain = newest ? (stderr ? current.stderr : current.log) : archived;
  const source = openArchive(root, packed);
  if (source === undefined) {
    const bytes = stat(plain)?.size ?? null;
    return fileReport(plain, bytes === null ? "missing" : "kept", bytes);
  }
  const unfinished = `${plain}.part`;
  try {
    removeFile(root, unfinished);
    const hash = createHash("sha256");
    const frame = (i: number): Buffer => source.frame(i);
    const each = (bytes: Buffer): void => void hash.update(bytes);
    const mtime = stat(packed)?.mtimeMs;
    const unpacking = anchoredSteps(
      root,
      unfinished,
      (safe) => unpackFrames(safe, source.frames.length, frame, each, mtime),
      true,
    );
    await follow(unpacking, "unpacked", progress);
    step("unpacked");
    const sha256 = hash.digest("hex");
    if (linkMove(root, unfinished, plain) === "exists" && hashOfPlain(root, plain) !== sha256) {
      removeFile(root, unfinished);
      return fileReport(packed, "failed", null, `${basename(plain)} exists and holds something else`);
    }
    step("placed");
    removeFile(root, unfinished);
    if (!stderr && newest) linkMove(root, paths.archivedIndex, current.index);
    step("index moved");
    removeFile(root, packed);
    step("removed");
    return fileReport(plain, "kept", source.size(), null, sha256);
  } finally {
    source.close();
  }
}

function openArchive(root: string, path: string): ArchiveSource | undefined {
  if (stat(path) === undefined) return undefined;
  try {
    return anchored(root, path, (safe) => ArchiveSource.open(safe));
  } catch (error) {
    if (errno(error) === "ENOENT") return undefined; // Its folder went between the two looks.
    throw error;
  }
}

/** Of what an archive holds. */
function* hashOf(root: string, path: string): Steps<string | undefined> {
  const source = openArchive(root, path);
  if (source === undefined) return undefined;
  try {
    const hash = createHash("sha256");
    for (const [i, { offset, bytes }] of source.frames.entries()) {
      hash.update(source.frame(i));
      if (i % STEP_FRAMES === STEP_FRAMES - 1) yield offset + bytes;
    }
    return hash.digest("hex");
  } finally {
    source.close();
  }
}

/** Of a plain file that a restore left behind when it was killed; undefined for whatever else has its name. */
function hashOfPlain(root: string, path: string): string | undefined {
  if (!stat(path)?.isFile()) return undefined;
  const hash = createHash("sha256");
  const source = anchored(root, path, (safe) => FileSource.open(safe));
  const piece = Buffer.allocUnsafe(1 << 20);
  try {
    for (let at = 0, n = 1; source !== undefined && n > 0; at += n) {
      n = source.read(piece, at);
      hash.update(piece.subarray(0, n));
    }
    return hash.digest("hex");
  } catch {
    return undefined; // Swapped for something that cannot be read so.
  } finally {
    source?.close();
  }
}
