/**
 * One SQLite connection: WAL, synchronous NORMAL, and our own waiting for the write lock. SQLite's busy handler backs off
 * up to 100 ms and starves waiters (measured: half of the calls took 1.2 s); here each waiter asks again after
 * 1-5 ms. Never open the database file by other means in this process: closing any descriptor of it drops SQLite's locks.
 */
import { existsSync, renameSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { MidwatchError } from "../core/errors.ts";
import { assertDescriptors, errno } from "../disk/fault.ts";
import { lockHolder } from "../disk/lock-holder.ts";
import { createExclusive } from "../disk/replace.ts";
import { migrate, type Schema, schemaVersion } from "./schema.ts";

export interface OpenOptions {
  /** Never writes the file. Where it is missing or unusable an empty registry in memory is given, to be rebuilt. */
  readOnly?: boolean;
  /** How long to wait for the write lock. */
  busyMs?: number;
  /** Whether the whole file is checked: when it is small, unless this says otherwise. A fault elsewhere shows when the bad page is met. */
  doubted?: boolean;
}

/** Which database, for what is said of it. */
interface Place {
  path: string;
  schema: Schema;
}

/** Above this the whole-file check would be felt at each start; a fault then shows when the bad page is met. */
const CHECK_MAX_BYTES = 16 * 1024 * 1024;
const BUSY_MS = 2000;
/** Times of it that are waited at most. */
const HANDS = 10;
const MAKING_MS = 200;
const clock = new Int32Array(new SharedArrayBuffer(4));

export class Connection {
  readonly db: DatabaseSync;
  readonly path: string;
  /** Where an unusable database was put, when this open found one. */
  readonly movedAside: string | undefined;
  readonly #schema: Schema;
  readonly #busyMs: number;

  private constructor(db: DatabaseSync, { path, schema }: Place, busyMs: number, movedAside?: string) {
    this.db = db;
    this.path = path;
    this.#schema = schema;
    this.#busyMs = busyMs;
    this.movedAside = movedAside;
  }

  static open(path: string, schema: Schema, options: OpenOptions = {}): Connection {
    const place = { path, schema };
    const { busyMs = BUSY_MS, doubted } = options;
    if (options.readOnly === true) return Connection.#openReadOnly(place, busyMs);
    // Made before SQLite does, which would give it the mode of the umask; -wal and -shm take over the file's mode.
    if (path !== ":memory:" && !existsSync(path)) createExclusive(path, "");
    let db = connect(place, false);
    let movedAside: string | undefined;
    if (path !== ":memory:" && !retry(place, busyMs, () => isSound(db, path, doubted))) {
      db.close();
      movedAside = retry(place, busyMs, () => putAsideIfCorrupt(place, doubted));
      createExclusive(path, "");
      db = connect(place, false);
    }
    const connection = new Connection(db, place, busyMs, movedAside);
    try {
      connection.#prepareSchema();
    } catch (error) {
      connection.db.close();
      throw error;
    }
    return connection;
  }

  static #openReadOnly(place: Place, busyMs: number): Connection {
    const { path, schema } = place;
    if (existsSync(path)) {
      try {
        const db = connect(place, true);
        if (retry(place, busyMs, () => isSound(db, path) && schemaVersion(db) === schema.migrations.length)) {
          return new Connection(db, place, busyMs);
        }
        db.close();
      } catch (error) {
        if (error instanceof MidwatchError && ["REGISTRY_BUSY", "NO_RESOURCES"].includes(error.code)) throw error;
        // Not readable here (a read-only mount, another user's file): the folders tell the same.
      }
    }
    return Connection.open(":memory:", schema, { busyMs });
  }

  read<T>(act: () => T): T {
    return retry(this.#place, this.#busyMs, act);
  }

  /** One transaction that has the write lock from its first statement. `act` must do nothing but SQLite. */
  write<T>(act: () => T): T {
    retry(this.#place, this.#busyMs, () => this.db.exec("BEGIN IMMEDIATE"));
    try {
      const result = act();
      this.db.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.db.isTransaction) this.db.exec("ROLLBACK");
      throw sqliteFault(error, this.#place);
    }
  }

  get #place(): Place {
    return { path: this.path, schema: this.#schema };
  }

  #prepareSchema(): void {
    const { what, lost, migrations } = this.#schema;
    retry(this.#place, this.#busyMs, () => {
      this.db.exec("PRAGMA journal_mode = WAL");
      this.db.exec("PRAGMA synchronous = NORMAL");
    });
    const version = this.read(() => schemaVersion(this.db));
    if (version > migrations.length) {
      throw new MidwatchError(
        "REGISTRY_NEWER",
        `The ${what} ${this.path} was written by a newer midwatch (schema ${version}).`,
        {
          hint: `Update midwatch, or move the file away. ${lost}`,
        },
      );
    }
    if (version < migrations.length) this.write(() => migrate(this.db, this.#schema));
  }
}

function connect(place: Place, readOnly: boolean): DatabaseSync {
  try {
    return new DatabaseSync(place.path, { readOnly, timeout: 0 });
  } catch (error) {
    throw sqliteFault(error, place);
  }
}

/** False for bytes that are not a database or do not hold together; any other trouble is thrown. */
function isSound(db: DatabaseSync, path: string, whole?: boolean): boolean {
  if (isCutToNothing(path)) return false;
  try {
    schemaVersion(db);
    // Deleted meanwhile it is as small as a new one: whoever uses it notices.
    const check = whole ?? (statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= CHECK_MAX_BYTES;
    if (!check) return true;
    return db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"] === "ok";
  } catch (error) {
    if (isCorrupt(error)) return false;
    throw error;
  }
}

/**
 * SQLite takes a file of 0 bytes for a new database and would wait for ever for those who have it open as the old one. While a
 * database is being made it has no -shm; a moment's patience is for a new one beside the -shm of one that was deleted.
 */
function isCutToNothing(path: string): boolean {
  const look = (): boolean => statSync(path, { throwIfNoEntry: false })?.size === 0 && existsSync(`${path}-shm`);
  if (!look()) return false;
  Atomics.wait(clock, 0, 0, MAKING_MS);
  return look();
}

/**
 * Moves an unusable database out of the way and returns its new name. The look is repeated under a lock that the kernel
 * releases if we die (another SQLite file), so that of two finders the second does not move the first one's fresh database.
 */
function putAsideIfCorrupt(place: Place, whole: boolean | undefined): string | undefined {
  const { path } = place;
  const guard = new DatabaseSync(`${path}.guard`, { timeout: 0 });
  try {
    guard.exec("BEGIN EXCLUSIVE");
    if (soundAt(place, whole)) return undefined;
    const aside = `${path}.corrupt.${new Date().toISOString().replace(/[-:.]/g, "")}`;
    // The database first: without it SQLite discards a left-over -wal by itself.
    for (const suffix of ["", "-wal", "-shm"]) {
      try {
        renameSync(path + suffix, aside + suffix);
      } catch (error) {
        if (errno(error) !== "ENOENT") throw error;
      }
    }
    return aside;
  } finally {
    guard.close();
  }
}

function soundAt(place: Place, whole: boolean | undefined): boolean {
  if (!existsSync(place.path)) return true;
  const db = connect(place, false);
  try {
    return isSound(db, place.path, whole);
  } finally {
    db.close();
  }
}

/**
 * Calls `act` again while the database is locked. Who stands still with the lock is waited for `busyMs`; where it goes from hand to hand, as on a
 * machine with too much to do, our turn comes, and we wait longer.
 */
function retry<T>(place: Place, busyMs: number, act: () => T): T {
  const begun = performance.now();
  let [since, looked, holder] = [begun, begun, undefined as number | undefined];
  for (;;) {
    try {
      return act();
    } catch (error) {
      if (!isBusy(error)) throw sqliteFault(error, place);
      const now = performance.now();
      if (now - looked >= busyMs / 8) {
        const found = lockHolder(place.path)?.pid;
        if (holder !== undefined && found !== undefined && found !== holder) since = now;
        [looked, holder] = [now, found ?? holder];
      }
      if (now - since >= busyMs || now - begun >= busyMs * HANDS)
        throw busyFault(place, Math.round(now - begun), error);
      Atomics.wait(clock, 0, 0, 1 + Math.random() * 4);
    }
  }
}

function busyFault({ path, schema }: Place, busyMs: number, cause: unknown): MidwatchError {
  const holder = lockHolder(path);
  const who = holder === undefined ? "another process" : `process ${holder.pid} (${holder.name})`;
  return new MidwatchError("REGISTRY_BUSY", `The ${schema.what} ${path} was locked by ${who} for ${busyMs} ms.`, {
    hint:
      holder === undefined ? "Try again." : `Try again, or look at what ${holder.pid} is doing: ps -p ${holder.pid}`,
    data: { path, holder: holder ?? null },
    cause,
  });
}

function extendedCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
}

function primaryCode(error: unknown): number {
  return extendedCode(error) & 0xff;
}

/** SQLITE_BUSY, SQLITE_LOCKED. */
function isBusy(error: unknown): boolean {
  return primaryCode(error) === 5 || primaryCode(error) === 6;
}

/** SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_IOERR_SHORT_READ: the file is shorter than it says. */
function isCorrupt(error: unknown): boolean {
  return primaryCode(error) === 11 || primaryCode(error) === 26 || extendedCode(error) === 522;
}

/** Whether it was taken away under us: opened again, there is another. */
export function isTakenAway(error: unknown): boolean {
  return error instanceof MidwatchError && error.code === "REGISTRY_BUSY" && primaryCode(error.cause) === 10;
}

/** SQLITE_CONSTRAINT: a key that exists. */
export function isDuplicate(error: unknown): boolean {
  return primaryCode(error) === 19;
}

function sqliteFault(error: unknown, { path, schema }: Place): unknown {
  const extended = extendedCode(error);
  if (isCorrupt(error)) {
    return new MidwatchError("REGISTRY_CORRUPT", `The ${schema.what} ${path} is damaged.`, {
      hint: schema.lost,
      cause: error,
    });
  }
  // SQLITE_FULL; SQLITE_IOERR_WRITE and _SHMSIZE are how a full disk shows in WAL mode.
  if (primaryCode(error) === 13 || extended === 778 || extended === 4874) {
    return new MidwatchError("DISK_FULL", `There is no room to write ${path}.`, {
      hint: "Free some space; `midwatch prune --dry-run` shows what midwatch itself could remove.",
      cause: error,
    });
  }
  // SQLITE_IOERR: what is left when the database, or its -wal or -shm, was deleted between two steps of ours.
  if (primaryCode(error) === 10) {
    return new MidwatchError(
      "REGISTRY_BUSY",
      `The ${schema.what} ${path} was taken away while it was used, or cannot be read.`,
      {
        hint: `Try again. ${schema.lost}`,
        data: { path, holder: null },
        cause: error,
      },
    );
  }
  if (primaryCode(error) === 14) assertDescriptors();
  // SQLITE_PERM, SQLITE_READONLY, SQLITE_CANTOPEN.
  if ([3, 8, 14].includes(primaryCode(error))) {
    return new MidwatchError("NOT_WRITABLE", `The ${schema.what} ${path} cannot be opened for writing.`, {
      hint: schema.unwritable,
      cause: error,
    });
  }
  return error;
}
