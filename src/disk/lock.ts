/**
 * One at a time, over all processes that see the file. SQLite's lock on it is the kernel's: it goes with its holder, however that
 * ends, and it works between containers that share a folder. Nothing is ever written to the file.
 */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { diskFault } from "./fault.ts";
import { createExclusive } from "./replace.ts";

const PAUSE_MS = 5;
const BUSY = 5;

export interface Lock {
  release(): void;
}

/** Undefined when somebody else had it for all of `waitMs`. */
export async function takeLock(path: string, waitMs: number): Promise<Lock | undefined> {
  let db: DatabaseSync;
  try {
    // Made by another descriptor than SQLite's: closing one of the file itself would drop a lock that this process has on it.
    if (!existsSync(path)) createExclusive(path, "");
    db = new DatabaseSync(path);
  } catch (error) {
    throw diskFault(error, path);
  }
  for (const deadline = performance.now() + waitMs; ; await sleep(PAUSE_MS)) {
    try {
      // In memory: else SQLite makes a second file, which a full disk does not let it.
      db.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return { release: () => db.close() };
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== BUSY) {
        db.close();
        throw diskFault(error, path);
      }
    }
    if (performance.now() >= deadline) {
      db.close();
      return undefined;
    }
  }
}
