/**
 * Compressing a finished run's log, and back. At every moment the log is whole in at least one place: the archive is written
 * under another name, synced, read back and compared before it gets its name, and only then the plain file goes.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { follow, type Progress, type Steps } from "../core/progress.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, FileReport } from "../core/types.ts";
import { packFile, unpackFrames } from "../disk/archive.ts";
import { linkMove, makeFolder, removeFile } from "../disk/inside.ts";
import { replace } from "../disk/replace.ts";
import { ArchiveSource } from "../log/archive-source.ts";
import { Log } from "../log/log.ts";
import { FileSource } from "../log/source.ts";
import { verify } from "../log/verify.ts";
import { leases } from "../process/keeper.ts";
import { type ArchiveStep, type Context, catchUp } from "./context.ts";
import { readFacts } from "./facts.ts";
import { locate } from "./locate.ts";
import { logPath } from "./log-path.ts";
import { hasEnded } from "./observe.ts";
import { runRow, stat } from "./record.ts";
import { writeView } from "./view.ts";

const STEP_FRAMES = 8;

export interface Archived {
  agent: AgentId;
  run: number;
  files: FileReport[];
  /** Of the log: packed by unpacked; null when there was nothing to pack. */
  ratio: number | null;
}

export async function archive(
  context: Context,
  agent: AgentId,
  run: number | undefined,
  progress: Progress | undefined,
): Promise<Archived> {
  const target = endedRun(context, agent, run);
  const { layout } = context;
  makeFolder(layout.root, layout.task(target.task).archive);
  const log = await packOne(context, target, false, progress);
  const stderr = await packOne(context, target, true, progress);
  remember(context, target, [log.file, stderr.file]);
  return { agent, run: target.run, files: [log.file, stderr.file], ratio: log.ratio };
}

export async function restore(
  context: Context,
  agent: AgentId,
  run: number | undefined,
  progress: Progress | undefined,
): Promise<Archived> {
  const target = endedRun(context, agent, run);
  const files = [await unpackOne(context, target, false, progress), await unpackOne(context, target, true, progress)];
  remember(context, target, files);
  return { agent, run: target.run, files, ratio: null };
}

interface Target {
  task: ReturnType<typeof locate>["listed"]["agent"]["task"];
  agent: AgentId;
  run: number;
  newest: boolean;
  json: boolean;
}

function endedRun(context: Context, agent: AgentId, asked: number | undefined): Target {
  const { listed } = locate(context, agent);
  const run = asked ?? listed.run.run;
  const facts = readFacts(context.layout.run(listed.agent.task, agent, run));
  if (!facts.intent)
    throw new MidwatchError("NOT_FOUND_RUN", `${agent} has no run ${run}.`, { hint: `midwatch show ${agent}` });
  if (!hasEnded(facts)) {
    throw new MidwatchError("REFUSED_ALIVE", `Run ${run} of ${agent} has not ended; its log is still being written.`, {
      hint: `midwatch wait ${agent}, or midwatch stop ${agent}`,
    });
  }
  return {
    task: listed.agent.task,
    agent,
    run,
    newest: run === listed.run.run,
    json: listed.agent.driver !== "command",
  };
}

interface Packing {
  file: FileReport;
  ratio: number | null;
}

async function packOne(
  context: Context,
  target: Target,
  stderr: boolean,
  progress: Progress | undefined,
): Promise<Packing> {
  const { layout } = context;
  const step = stepOf(context);
  const { task, agent, run } = target;
  const { log: from, index } = logPath(layout, task, agent, run, target.newest, stderr);
  const paths = layout.run(task, agent, run);
  const name = stderr ? paths.archivedStderr : paths.archivedLog;
  const to = `${name}.zst`;
  if (from === to) return unpacked({ path: to, action: "archived", bytes: stat(to)?.size ?? 0 });
  const before = stat(from);
  const size = before?.size ?? 0;
  const failed = (error: string, sha256: string | null = null): Packing =>
    unpacked({ path: from, action: "failed", bytes: size, sha256, error });
  if (size === 0) return unpacked({ path: from, action: before ? "kept" : "missing", bytes: size });
  if (leases([from])[0] === "held") return failed("a process has it open for writing");
  if (!stderr) {
    if (await isDamaged(from, index, target.json, progress)) return unpacked(setAside(context, from, name, size));
    step("checked");
    if (target.newest) linkMove(layout.root, layout.agent(task, agent).index, paths.archivedIndex);
    step("index moved");
  }
  const unfinished = `${name}.zst.part`;
  removeFile(layout.root, unfinished);
  const hash = createHash("sha256");
  const packed = await follow(
    packFile(from, unfinished, (bytes) => hash.update(bytes)),
    "packed",
    progress,
  );
  step("packed");
  const sha256 = hash.digest("hex");
  const readBack = await follow(hashOf(unfinished), "compared", progress);
  const now = stat(from); // A restart may have moved it meanwhile, and another run's log has its name.
  if (readBack !== sha256 || now?.size !== packed.bytes || now.ino !== before?.ino) {
    removeFile(layout.root, unfinished);
    return failed("the archive did not read back as it was written", sha256);
  }
  step("compared");
  if (linkMove(layout.root, unfinished, to) === "exists" && (await follow(hashOf(to), "compared")) !== sha256)
    return failed(`${basename(to)} exists and holds something else`, sha256);
  step("placed");
  removeFile(layout.root, unfinished);
  removeFile(layout.root, from);
  step("removed");
  return {
    file: { path: to, action: "archived", bytes: size, sha256, error: null },
    ratio: packed.packed / packed.bytes,
  };
}

function unpacked(file: Partial<FileReport> & Pick<FileReport, "path" | "action" | "bytes">): Packing {
  return { file: { sha256: null, error: null, ...file }, ratio: null };
}

function stepOf({ onStep }: Context): (step: ArchiveStep) => void {
  return onStep ?? (() => undefined);
}

/** Bytes that are not what the keeper saw, or lines that should be JSON and are not. A torn last line is no damage. */
async function isDamaged(path: string, index: string, json: boolean, progress: Progress | undefined): Promise<boolean> {
  const log = Log.open(path, index, { type: "stdout", json });
  if (log === undefined) return false;
  try {
    const { index: state, bad_count, partial } = await follow(verify(log, log.source.size()), "checked", progress);
    return state === "wrong" || bad_count > (partial ? 1 : 0);
  } finally {
    log.close();
  }
}

function setAside(context: Context, from: string, name: string, bytes: number): FileReport {
  const to = `${name}.corrupted.${Date.now()}`;
  linkMove(context.layout.root, from, to);
  return { path: to, action: "kept", bytes, sha256: null, error: "damaged: kept aside as it is, not compressed" };
}

async function unpackOne(
  context: Context,
  target: Target,
  stderr: boolean,
  progress: Progress | undefined,
): Promise<FileReport> {
  const step = stepOf(context);
  const { layout } = context;
  const { task, agent, run } = target;
  const paths = layout.run(task, agent, run);
  const packed = `${stderr ? paths.archivedStderr : paths.archivedLog}.zst`;
  const current = layout.agent(task, agent);
  const plain = target.newest
    ? stderr
      ? current.stderr
      : current.log
    : stderr
      ? paths.archivedStderr
      : paths.archivedLog;
  const source = ArchiveSource.open(packed);
  if (source === undefined) {
    const bytes = stat(plain)?.size ?? null;
    return { path: plain, action: bytes === null ? "missing" : "kept", bytes, sha256: null, error: null };
  }
  const unfinished = `${plain}.part`;
  try {
    removeFile(layout.root, unfinished);
    const hash = createHash("sha256");
    const frames = unpackFrames(
      unfinished,
      source.frames.length,
      (i) => source.frame(i),
      (bytes) => hash.update(bytes),
      stat(packed)?.mtimeMs,
    );
    await follow(frames, "unpacked", progress);
    step("unpacked");
    const sha256 = hash.digest("hex");
    if (linkMove(layout.root, unfinished, plain) === "exists" && sha256 !== hashOfPlain(plain)) {
      removeFile(layout.root, unfinished);
      return { path: plain, action: "failed", bytes: null, sha256: null, error: "another file has its name" };
    }
    step("placed");
    removeFile(layout.root, unfinished);
    if (!stderr && target.newest) linkMove(layout.root, paths.archivedIndex, current.index);
    step("index moved");
    removeFile(layout.root, packed);
    step("removed");
    return { path: plain, action: "kept", bytes: source.size(), sha256, error: null };
  } finally {
    source.close();
  }
}

/** Of what an archive holds. */
function* hashOf(archivePath: string): Steps<string | undefined> {
  const source = ArchiveSource.open(archivePath);
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

/** Of a plain file that a restore left behind when it was killed; it is read in pieces. */
function hashOfPlain(path: string): string {
  const hash = createHash("sha256");
  const source = FileSource.open(path);
  const piece = Buffer.allocUnsafe(1 << 20);
  for (let at = 0, n = 1; source !== undefined && n > 0; at += n) {
    n = source.read(piece, at);
    hash.update(piece.subarray(0, n));
  }
  source?.close();
  return hash.digest("hex");
}

/** The cleanup fact says where each file is now; the run's phase follows from it. */
function remember(context: Context, { task, agent, run, newest }: Target, files: readonly FileReport[]): void {
  const paths = context.layout.run(task, agent, run);
  const known = readFacts(paths).cleanup?.files ?? [];
  const kept = known.filter(({ path }) => !files.some((file) => sameFile(file.path, path, run)));
  const fact: CleanupFact = {
    files: [...kept, ...files],
    freed_bytes: readFacts(paths).cleanup?.freed_bytes ?? 0,
    at: iso(),
  };
  replace(paths.cleanup, `${JSON.stringify(fact)}\n`);
  catchUp(context, (registry) => registry.putRun(runRow(context.layout, task, agent, run, readFacts(paths), newest)));
  writeView(context, task);
  stepOf(context)("remembered");
}

/** `x_stream.jsonl` in logs/ and `x_stream.3.jsonl.zst` in archive/ are the same log. */
function sameFile(a: string, b: string, run: number): boolean {
  const plain = (path: string): string =>
    basename(path)
      .replace(/\.zst$/, "")
      .replace(`.${run}.`, ".");
  return plain(a) === plain(b);
}
