/**
 * The state folder of this user: `$XDG_STATE_HOME/midwatch`, outside every project and readable by this user alone. It holds what a person
 * said may act (src/trust). No repository can bring such a folder along, and an agent that may only edit its project cannot write there.
 */
import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { userInfo } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { MidwatchError } from "../../core/errors.ts";
import { errno } from "../fault.ts";
import { makeFolders } from "../make-folders.ts";
import { createExclusive, readJson, replace } from "../replace.ts";

/** One folder for each kind of record. */
type Kind = "workspaces" | "configs" | "later" | "fleets" | "companions" | "budgets" | "told" | "heard";

/** Of files beside a record, on which locks are held (disk/lock.ts). */
type LockName = "lock" | "starting";
const LOCK_NAMES: readonly LockName[] = ["lock", "starting"];

export class StateFolder {
  readonly path: string;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.path = join(stateHome(env), "midwatch");
  }

  /** Undefined when there is none, or when the folder is not ours alone. `name` is hexadecimal digits. */
  read<T>(kind: Kind, name: string): T | undefined {
    return this.#isSafe() ? readJson<T>(this.#file(kind, name)).value : undefined;
  }

  /** Where a file of the user's own lies that is no record; its folder is made. */
  place(name: string): string {
    try {
      if (!this.#isSafe()) makeFolders(this.path);
      if (!this.#isSafe()) throw new Error("it belongs to another user, or others can write to it");
      return join(this.path, name);
    } catch (error) {
      throw unusable(this.path, error);
    }
  }

  /** There is something of this name, though it may not be readable, or not count. */
  has(kind: Kind, name: string): boolean {
    return existsSync(this.#file(kind, name));
  }

  folder(kind: Kind): string {
    return join(this.path, kind);
  }

  /** Durable when it returns. */
  write(kind: Kind, name: string, record: object): void {
    this.#put(kind, name, record, replace);
  }

  #put<T>(kind: Kind, name: string, record: object, put: (path: string, text: string) => T): T {
    try {
      makeFolders(this.folder(kind));
      if (!this.#isSafe()) throw new Error("it belongs to another user, or others can write to it");
      return put(this.#file(kind, name), `${JSON.stringify(record)}\n`);
    } catch (error) {
      throw unusable(this.path, error);
    }
  }

  /** Durable when it returns; false when there is one already. */
  create(kind: Kind, name: string, record: object): boolean {
    return this.#put(kind, name, record, createExclusive);
  }

  /** Where a lock is taken; its folder is there afterwards. */
  lockFile(kind: Kind, name: string, lock: LockName): string {
    makeFolders(this.folder(kind));
    return this.#file(kind, name, lock);
  }

  names(kind: Kind): string[] {
    try {
      return readdirSync(join(this.path, kind)).flatMap((name) => NAMED.exec(name)?.[1] ?? []);
    } catch {
      return [];
    }
  }

  /** Best effort: a record that is left is of no use to anybody. */
  remove(kind: Kind, name: string): void {
    for (const ending of ["json", ...(kind === "companions" ? LOCK_NAMES : [])])
      try {
        unlinkSync(this.#file(kind, name, ending));
      } catch {}
  }

  /**
   * A folder that holds one program and nothing else, for PATH; made again when it is not as it should be. Undefined where somebody else
   * could put a program there, or where none can be kept or executed.
   */
  program(key: string, name: string, text: string): string | undefined {
    const folder = join(this.path, "bin", key);
    const file = join(folder, name);
    try {
      makeFolders(folder);
      if (![this.path, dirname(folder), folder].every(isOurs)) return undefined;
      if (!isOurs(file) || (lstatSync(file).mode & 0o500) !== 0o500 || readFileSync(file, "utf8") !== text) {
        // Whole and executable from its first moment: a run may be calling it.
        const made = `${file}.${randomBytes(6).toString("hex")}.tmp`;
        writeFileSync(made, text, { flag: "wx", mode: 0o700 });
        renameSync(made, file);
      }
      accessSync(file, constants.X_OK);
      return folder;
    } catch {
      return undefined;
    }
  }

  /** A record counts only when nobody else could have put it there. */
  #isSafe(): boolean {
    return isOurs(this.path);
  }

  #file(kind: Kind, name: string, ending = "json"): string {
    if (!/^[0-9a-f]{32,64}$/.test(name)) throw new Error(`${name} is not a name of a record`);
    return join(this.folder(kind), `${name}.${ending}`);
  }
}

/** It is there, and nobody else can write to it. */
function isOurs(path: string): boolean {
  try {
    const { uid, mode } = lstatSync(path);
    return uid === process.geteuid?.() && (mode & 0o022) === 0;
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR" || errno(error) === "EACCES") return false;
    throw error;
  }
}

const NAMED = /^([0-9a-f]{32,64})\.json$/;

function unusable(path: string, error: unknown): MidwatchError {
  const why = error instanceof Error ? error.message : String(error);
  return new MidwatchError("NO_STATE_FOLDER", `Nothing can be recorded in ${path}: ${why}`, {
    hint: "Set XDG_STATE_HOME to a folder that only you can write, outside of every project.",
    cause: error,
    data: { path },
  });
}

/** Of the caller; one that gives an environment without any of these has the process's own. */
function stateHome(env: Readonly<Record<string, string | undefined>>): string {
  for (const from of [env, process.env]) {
    const { XDG_STATE_HOME: state, HOME: home } = from;
    if (state !== undefined && isAbsolute(state)) return state;
    if (home !== undefined && isAbsolute(home)) return join(home, ".local", "state");
  }
  return join(userInfo().homedir, ".local", "state");
}
