/**
 * Compressing a finished run's log, and back. At every moment the log is whole in at least one place: the archive is written
 * under another name, synced, read back and compared before it gets its name, and only then the plain file goes.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import type { CleanupFact, FileReport } from "../core/types.ts";
import { packFile, unpackFrames } from "../disk/archive.ts";
import { linkMove, makeFolder, removeFile } from "../disk/inside.ts";
import { replace } from "../disk/replace.ts";
import { ArchiveSource } from "../log/archive-source.ts";
import { Log } from "../log/log.ts";
import { type Progress, verify } from "../log/verify.ts";
import { leases } from "../process/keeper.ts";
import { type Context, catchUp } from "./context.ts";
import { readFacts } from "./facts.ts";
import { locate } from "./locate.ts";
import { logPath } from "./log-path.ts";
import { hasEnded } from "./observe.ts";
import { runRow, stat } from "./record.ts";
import { writeView } from "./view.ts";

export interface Archived {
  agent: AgentId;
  run: number;
  files: FileReport[];
  /** Of the log: packed by unpacked; null when there was nothing to pack. */
  ratio: number | null;
}

export function archive(context: Context, agent: AgentId, run?: number, progress?: Progress): Archived {
  const target = endedRun(context, agent, run);
  const { layout } = context;
  makeFolder(layout.root, layout.task(target.task).archive);
  const log = packOne(context, target, false, progress);
  const stderr = packOne(context, target, true, progress);
  remember(context, target, [log.file, stderr.file]);
  return { agent, run: target.run, files: [log.file, stderr.file], ratio: log.ratio };
}

export function restore(context: Context, agent: AgentId, run?: number): Archived {
  const target = endedRun(context, agent, run);
  const files = [false, true].map((stderr) => unpackOne(context, target, stderr));
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

function packOne(
  context: Context,
  target: Target,
  stderr: boolean,
  progress: Progress | undefined,
): { file: FileReport; ratio: number | null } {
  const { layout } = context;
  const { task, agent, run } = target;
  const { log: from, index } = logPath(layout, task, agent, run, target.newest, stderr);
  const paths = layout.run(task, agent, run);
  const name = stderr ? paths.archivedStderr : paths.archivedLog;
  const to = `${name}.zst`;
  if (from === to)
    return {
      file: { path: to, action: "archived", bytes: stat(to)?.size ?? 0, sha256: null, error: null },
      ratio: null,
    };
  const size = stat(from)?.size ?? 0;
  if (size === 0)
    return {
      file: { path: from, action: existsSync(from) ? "kept" : "missing", bytes: size, sha256: null, error: null },
      ratio: null,
    };
  if (leases([from])[0] === "held") {
    return {
      file: { path: from, action: "failed", bytes: size, sha256: null, error: "a process has it open for writing" },
      ratio: null,
    };
  }
  if (!stderr) {
    if (isDamaged(from, index, target.json, progress))
      return { file: setAside(context, from, name, size), ratio: null };
    linkMove(layout.root, index, paths.archivedIndex);
  }
  const unfinished = `${name}.zst.part`;
  removeFile(layout.root, unfinished);
  const hash = createHash("sha256");
  let done = 0;
  const packed = packFile(from, unfinished, (bytes) => {
    hash.update(bytes);
    done += bytes.length;
    progress?.(done);
  });
  const sha256 = hash.digest("hex");
  if (hashOf(unfinished) !== sha256 || stat(from)?.size !== packed.bytes) {
    removeFile(layout.root, unfinished);
    return {
      file: {
        path: from,
        action: "failed",
        bytes: size,
        sha256,
        error: "the archive did not read back as it was written",
      },
      ratio: null,
    };
  }
  if (linkMove(layout.root, unfinished, to) === "exists" && hashOf(to) !== sha256) {
    return {
      file: {
        path: from,
        action: "failed",
        bytes: size,
        sha256,
        error: `${basename(to)} exists and holds something else`,
      },
      ratio: null,
    };
  }
  removeFile(layout.root, unfinished);
  removeFile(layout.root, from);
  return {
    file: { path: to, action: "archived", bytes: size, sha256, error: null },
    ratio: packed.packed / packed.bytes,
  };
}

/** Bytes that are not what the keeper saw, or lines that should be JSON and are not. A torn last line is no damage. */
function isDamaged(path: string, index: string, json: boolean, progress: Progress | undefined): boolean {
  const log = Log.open(path, index, { type: "stdout", json });
  if (log === undefined) return false;
  try {
    const { index: state, bad_count, partial } = verify(log, log.source.size(), progress);
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

function unpackOne(context: Context, target: Target, stderr: boolean): FileReport {
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
    unpackFrames(
      unfinished,
      source.frames.length,
      (i) => source.frame(i),
      (bytes) => hash.update(bytes),
      stat(packed)?.mtimeMs,
    );
    if (linkMove(layout.root, unfinished, plain) === "exists" && stat(plain)?.size !== source.size()) {
      return { path: plain, action: "failed", bytes: null, sha256: null, error: "another file has its name" };
    }
    removeFile(layout.root, unfinished);
    if (!stderr && target.newest) linkMove(layout.root, paths.archivedIndex, current.index);
    removeFile(layout.root, packed);
    return { path: plain, action: "kept", bytes: source.size(), sha256: hash.digest("hex"), error: null };
  } finally {
    source.close();
  }
}

function hashOf(archivePath: string): string | undefined {
  const source = ArchiveSource.open(archivePath);
  if (source === undefined) return undefined;
  try {
    const hash = createHash("sha256");
    for (let i = 0; i < source.frames.length; i++) hash.update(source.frame(i));
    return hash.digest("hex");
  } finally {
    source.close();
  }
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
}

/** `x_stream.jsonl` in logs/ and `x_stream.3.jsonl.zst` in archive/ are the same log. */
function sameFile(a: string, b: string, run: number): boolean {
  const plain = (path: string): string =>
    basename(path)
      .replace(/\.zst$/, "")
      .replace(`.${run}.`, ".");
  return plain(a) === plain(b);
}
