/**
 * One at a time, over all processes that see the file. SQLite's lock on it is the kernel's: it goes with its holder, however that
 * ends, and it works between containers that share a folder. Nothing is ever written to the file.
 */
import { closeSync, constants, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { MidwatchError } from "../core/errors.ts";
import { assertDescriptors, attempt, diskFault } from "./fault.ts";
import { anchored, makeFolder, removeFile } from "./inside.ts";
import type { Layout } from "./layout.ts";
import { lockHolder } from "./lock-holder.ts";

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const PAUSE_MS = 5;
const BUSY = 5;
const CANTOPEN = 14;
/** What is done under a lock of `locks/` takes milliseconds; packing a large log takes longer. */
const WAIT_MS = 20_000;

export interface Lock extends Disposable {
  release(): void;
}

/** Undefined when somebody else had it for all of `waitMs`. */
export function takeLock(path: string, waitMs: number): Promise<Lock | undefined> {
  return take(path, waitMs, () => makeEmpty(path));
}

/**
 * Runs `act` while no other process does so under the same name, a file of `locks/` that is gone afterwards. Throws LOCK_BUSY, which
 * names the holder, rather than going on without the lock.
 */
export async function alone<T>(
  { root }: Pick<Layout, "root">,
  path: string,
  act: () => T | Promise<T>,
  waitMs: number = WAIT_MS,
): Promise<T> {
  const lock = await take(path, waitMs, () => {
    makeFolder(root, dirname(path));
    anchored(root, path, makeEmpty);
  });
  if (lock === undefined) throw busy(path, waitMs);
  try {
    return await act();
  } finally {
    // Before it is given up: a waiter finds that its file has lost its name, and makes the next one.
    removeQuietly(root, path);
    lock.release();
  }
}

/** Not synced: after a power cut there is no holder. */
function makeEmpty(path: string): void {
  attempt(["EEXIST"], path, () => closeSync(openSync(path, CREATE, 0o600)));
}

/** A holder of `alone` removes its file: one that has lost its name keeps nobody out, and the next is tried. */
async function take(path: string, waitMs: number, make: () => void): Promise<Lock | undefined> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const opened = open(path, make);
    try {
      if (opened !== undefined && (await isOurs(opened.db, deadline)) && opened.file === fileAt(path))
        return { release: () => opened.db.close(), [Symbol.dispose]: () => opened.db.close() };
    } catch (error) {
      if (opened?.file === fileAt(path)) {
        opened?.db.close();
        throw diskFault(error, path);
      }
    }
    opened?.db.close();
    if (performance.now() >= deadline) return undefined;
    await sleep(PAUSE_MS);
  }
}

/** Undefined when it is taken away between the two steps. SQLite makes none: it would follow a link. */
function open(path: string, make: () => void): { db: DatabaseSync; file: string } | undefined {
  let file: string | undefined;
  try {
    // Not opened by any other descriptor: to close one would drop a lock that this process has on the file.
    if (fileAt(path) === undefined) make();
    file = fileAt(path);
    const url = pathToFileURL(path);
    url.searchParams.set("mode", "rw");
    return file === undefined ? undefined : { db: new DatabaseSync(url), file };
  } catch (error) {
    if (errcode(error) !== CANTOPEN) throw diskFault(error, path);
    // It was taken away, and the next holder may have made another since.
    if (fileAt(path) !== file) return undefined;
    assertDescriptors();
    throw diskFault(error, path);
  }
}

/** False when somebody else has it at the deadline. Throws also for a file that has no name any more. */
async function isOurs(db: DatabaseSync, deadline: number): Promise<boolean> {
  for (;;) {
    try {
      // In memory: else SQLite makes a second file, which a full disk does not let it.
      db.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return true;
    } catch (error) {
      if (errcode(error) !== BUSY) throw error;
    }
    if (performance.now() >= deadline) return false;
    await sleep(PAUSE_MS);
  }
}

/** Which file has the name now. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}:${found.birthtimeMs}`;
}

function errcode(error: unknown): number | undefined {
  return (error as { errcode?: number }).errcode;
}

function removeQuietly(root: string, path: string): void {
  try {
    removeFile(root, path);
  } catch {
    // An empty file is left, which the next holder uses.
  }
}

function busy(path: string, waitMs: number): MidwatchError {
  const holder = lockHolder(path);
  const who = holder === undefined ? "another process" : `process ${holder.pid} (${holder.name})`;
  return new MidwatchError("LOCK_BUSY", `The lock ${path} was held by ${who} for all of ${waitMs} ms.`, {
    hint: `Try again when that has finished${holder === undefined ? "" : `: ps -p ${holder.pid}`}. A process that stands still (T in \`ps\`) has to be continued or ended.`,
    data: { path, holder: holder ?? null },
  });
}
