/** Who holds SQLite's lock on a file? Asked after a failure only, so it may be slow and may not know. */
import { readFileSync, statSync } from "node:fs";

export interface LockHolder {
  pid: number;
  name: string;
}

/** SQLite's WAL index: byte 120 of the -shm file is the write lock. */
const WAL_WRITE_LOCK = 120;

export function lockHolder(databasePath: string): LockHolder | undefined {
  try {
    const locks = readFileSync("/proc/locks", "utf8");
    const shm = statSync(`${databasePath}-shm`, { throwIfNoEntry: false });
    const pid = (shm && findHolder(locks, shm.ino, WAL_WRITE_LOCK)) ?? findHolder(locks, statSync(databasePath).ino);
    if (pid === undefined) return undefined;
    return { pid, name: readFileSync(`/proc/${pid}/comm`, "utf8").trim() };
  } catch {
    return undefined;
  }
}

/** From lines such as `1: POSIX  ADVISORY  WRITE 4711 fe:00:131072 120 120`; one that waits begins with `1: ->`. */
export function findHolder(locks: string, inode: number, byte?: number): number | undefined {
  for (const line of locks.split("\n")) {
    const match = /^\d+: \S+\s+\S+\s+WRITE\s+(\d+)\s+\S+:(\d+)\s+(\d+)\s+(\d+|EOF)$/.exec(line.trim());
    if (match === null || Number(match[2]) !== inode) continue;
    const end = match[4] === "EOF" ? Number.POSITIVE_INFINITY : Number(match[4]);
    const covers = byte === undefined || (Number(match[3]) <= byte && byte <= end);
    // A pid of 0 belongs to another pid namespace and names nobody here.
    if (covers && Number(match[1]) > 0) return Number(match[1]);
  }
  return undefined;
}
