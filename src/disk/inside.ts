/**
 * Making, moving and removing inside a workspace whose folders other processes (the agents) can change at any moment.
 *
 * Checking a path and then using it loses that race: against a process that swaps a folder for a symbolic link, 206 of
 * 1,381 checked deletes hit a file outside. Here each folder on the way is opened with
 * O_NOFOLLOW and the next step goes through that descriptor (`/proc/self/fd/N/name`), so the check is the use.
 */
import {
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import type { Steps } from "../core/progress.ts";
import { attempt, diskFault, errno, unsafe } from "./fault.ts";
import { assertMayWrite } from "./guard/only-read.ts";
import { type OpenFile, openFile, syncOpen } from "./replace.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Each level holds a descriptor; no tree of ours is deeper than a few. */
const DEPTH_MAX = 200;
const ROUNDS = 3;
/** Somebody put a file into a folder that was just emptied, or swapped a folder for something else. */
const CHANGED = ["ENOTEMPTY", "ENOTDIR", "EISDIR"];
/** Elsewhere (macOS) names are checked and then used: agents of the same user are cooperative there. */
const ANCHORED = existsSync("/proc/self/fd");

/** An open folder; `at(name)` is a path to an entry that cannot be led elsewhere. */
interface Folder extends OpenFile {
  at(name: string): string;
}

/** With the name of one entry in it, and the path to that. */
interface Parent extends Folder {
  name: string;
  safe: string;
}

/**
 * Gives `act` another path to the same entry, one that cannot be led elsewhere: the folder that holds it is open, reached
 * without a link, while `act` works. With `make` the folders on the way are made. Errors name the path that was asked for.
 */
export function anchored<T>(root: string, path: string, act: (path: string) => T, make = false): T {
  using folder = parentOf(root, path, make);
  try {
    return act(folder.safe);
  } catch (error) {
    throw asAsked(error, folder.safe, path);
  }
}

/** The same for work in steps: the folder stays open until the last one. */
export function* anchoredSteps<T>(root: string, path: string, act: (path: string) => Steps<T>, make = false): Steps<T> {
  using folder = parentOf(root, path, make);
  try {
    return yield* act(folder.safe);
  } catch (error) {
    throw asAsked(error, folder.safe, path);
  }
}

function parentOf(root: string, path: string, make: boolean): Parent {
  const names = split(root, path);
  const name = names.pop();
  if (name === undefined) throw unsafe(path, "is the workspace itself");
  const folder = walk(root, names, make);
  return { ...folder, name, safe: folder.at(name) };
}

function asAsked(error: unknown, safe: string, path: string): unknown {
  if (!(error instanceof MidwatchError) || !error.message.includes(safe)) return error;
  const { code, hint, retryable, data, cause } = error;
  const message = error.message.replaceAll(safe, path);
  return new MidwatchError(code, message, { hint, retryable, data: { ...data, path }, cause });
}

/** Throws UNSAFE_PATH unless `path` lies below `root` and no existing component of it, `root` included, is a link. */
export function assertInside(root: string, path: string): void {
  const names = split(root, path);
  let at = root;
  for (const name of ["", ...names]) {
    at = join(at, name);
    let link: boolean;
    try {
      link = lstatSync(at).isSymbolicLink();
    } catch (error) {
      if (errno(error) === "ENOENT") return;
      throw diskFault(error, at);
    }
    if (link) throw unsafe(at, "is a symbolic link");
  }
}

/** Makes a folder and those above it up to the root, each 0700. */
export function makeFolder(root: string, path: string): void {
  assertMayWrite(root);
  walk(root, split(root, path), true)[Symbol.dispose]();
}

/** The names in a folder; none when it is not there. */
export function namesIn(root: string, path: string): string[] {
  try {
    using folder = walk(root, split(root, path), false);
    return readdirSync(folder.at("."));
  } catch (error) {
    if (errno(error) === "ENOENT") return [];
    throw diskFault(error, path);
  }
}

/** Removes one file, or a link itself. False when there was none. */
export function removeFile(root: string, path: string): boolean {
  assertMayWrite(root);
  return inParent(root, path, ({ safe }) => {
    try {
      unlinkSync(safe);
    } catch (error) {
      if (errno(error) === "EISDIR") throw unsafe(path, "is a folder");
      throw error;
    }
    return true;
  });
}

export type Move = "moved" | "exists" | "missing";

/**
 * Moves a file without ever replacing one: `link` fails where `rename` would overwrite. A crash in between leaves both
 * names of the same file, and the next call finishes the work.
 */
export function linkMove(root: string, from: string, to: string): Move {
  assertMayWrite(root);
  using target = parentOf(root, to, true);
  const moved = inParent(root, from, (source): Move => {
    const before = lstatSync(source.safe);
    if (!before.isFile()) throw unsafe(from, "is not a plain file");
    const linked = attempt(["EEXIST"], to, () => linkSync(source.safe, target.safe));
    const after = lstatSync(target.safe);
    if (after.ino !== before.ino || after.dev !== before.dev) {
      if (!linked) return "exists";
      unlinkSync(target.safe);
      throw unsafe(from, "was swapped while it was being moved");
    }
    // The new name must be on the disk before the old one goes; a removal that a power cut undoes does no harm.
    fsyncSync(target.fd);
    unlinkSync(source.safe);
    return "moved";
  });
  return moved === false ? "missing" : moved;
}

/** Removes a folder with everything in it; links are removed, not followed. False when there was none. */
export function removeTree(root: string, path: string): boolean {
  assertMayWrite(root);
  return inParent(root, path, (parent) => {
    const device = fstatSync(parent.fd).dev;
    for (let round = 1; ; round++) {
      try {
        emptyAndRemove(parent, parent.name, device, 0);
        return true;
      } catch (error) {
        if (!CHANGED.includes(errno(error) ?? "")) throw error;
        if (round === ROUNDS) throw unsafe(path, "is being changed while it is removed");
      }
    }
  });
}

/**
 * Copies a plain file to the same place below another root, when it is there and no file is at that place. No link is followed
 * on either side. Returns its content; undefined when nothing was copied.
 */
export function copyFile(fromRoot: string, toRoot: string, path: string): Buffer | undefined {
  const read = inParent(fromRoot, path, ({ safe }) => {
    using file = openFile(safe, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(file.fd);
    if (!stats.isFile()) throw unsafe(join(fromRoot, path), "is not a plain file");
    return { bytes: readFileSync(file.fd), mode: stats.mode & 0o777 };
  });
  if (read === false) return undefined;
  using folder = parentOf(toRoot, path, true);
  try {
    writeFileSync(folder.safe, read.bytes, { flag: "wx", mode: read.mode });
    return read.bytes;
  } catch (error) {
    if (errno(error) === "EEXIST") return undefined;
    throw diskFault(error, join(toRoot, path));
  }
}

function emptyAndRemove(parent: Folder, name: string, device: number, depth: number): void {
  if (depth > DEPTH_MAX) throw unsafe(name, `is nested more than ${DEPTH_MAX} folders deep`);
  let opened: Folder;
  try {
    opened = open(parent.at(name));
  } catch (error) {
    // Not a folder (ENOTDIR), a link (ELOOP), or swapped since it was listed: the name itself goes, never its target.
    if (errno(error) !== "ENOTDIR" && errno(error) !== "ELOOP") throw error;
    unlinkSync(parent.at(name));
    return;
  }
  using folder = opened;
  if (fstatSync(folder.fd).dev !== device) throw unsafe(name, "is another file system mounted inside the workspace");
  for (const entry of readdirSync(folder.at("."), { withFileTypes: true })) {
    try {
      if (entry.isDirectory()) emptyAndRemove(folder, entry.name, device, depth + 1);
      else unlinkSync(folder.at(entry.name));
    } catch (error) {
      if (errno(error) !== "ENOENT") throw error;
    }
  }
  rmdirSync(parent.at(name));
}

/** Runs `act` on the open parent folder of `path`; false when the path does not exist. */
function inParent<T>(root: string, path: string, act: (folder: Parent) => T): T | false {
  try {
    using folder = parentOf(root, path, false);
    return act(folder);
  } catch (error) {
    if (errno(error) === "ENOENT") return false;
    throw diskFault(error, path);
  }
}

/** Opens the folder reached from the root by `names`, step by step. The caller closes it. */
function walk(root: string, names: readonly string[], make: boolean): Folder {
  let folder = step(() => open(root), root);
  for (const [i, name] of names.entries()) {
    using above = folder;
    const path = join(root, ...names.slice(0, i + 1));
    if (make && makeOne(above.at(name), path)) syncOpen(above.fd, path); // Else a power cut takes it, with all that was synced in it.
    folder = step(() => open(above.at(name)), path, make);
  }
  return folder;
}

function open(path: string): Folder {
  const file = openFile(path, FOLDER);
  return { ...file, at: (name) => (ANCHORED ? `/proc/self/fd/${file.fd}/${name}` : join(path, name)) };
}

/** O_DIRECTORY|O_NOFOLLOW answers ENOTDIR for a link, which says too little. */
function step(act: () => Folder, path: string, made = false): Folder {
  try {
    return act();
  } catch (error) {
    const code = errno(error);
    if (code === "ENOENT" && made) throw unsafe(path, "is being removed while it is made");
    if (code === "ENOTDIR" || code === "ELOOP") throw unsafe(path, "is not a folder, or is a symbolic link");
    throw diskFault(error, path);
  }
}

/** False when it is there already. */
function makeOne(at: string, path: string): boolean {
  try {
    mkdirSync(at, 0o700);
    return true;
  } catch (error) {
    if (errno(error) === "ENOENT") throw unsafe(path, "is being removed while it is made");
    if (errno(error) !== "EEXIST") throw diskFault(error, path);
    return false;
  }
}

/** The components of `path` below `root`; `path` may be absolute or relative to the root. */
function split(root: string, path: string): string[] {
  const inside = relative(root, isAbsolute(path) ? path : join(root, path));
  const names = inside === "" ? [] : inside.split(sep);
  if (isAbsolute(inside) || names.includes("..") || path.includes("\0")) throw unsafe(path, `is outside ${root}`);
  return names;
}
