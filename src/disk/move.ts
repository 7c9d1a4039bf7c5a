/** Moving files and folders within a workspace, as they are. Nothing that exists is ever replaced, and no link is followed. */
import { linkSync, lstatSync, renameSync, rmdirSync, type Stats, unlinkSync } from "node:fs";
import { join } from "node:path";
import { attempt, diskFault, errno } from "./fault.ts";
import { anchored, namesIn } from "./inside.ts";

/** Where both sides are folders they become one. Returns the paths that had to stay because their new name is taken. */
export function moveTree(root: string, from: string, to: string): string[] {
  const found = moveOne(root, from, to);
  if (found !== "exists") return [];
  const names = foldersOnBothSides(root, from, to);
  if (names === undefined) return [from];
  const left = names.flatMap((name) => moveTree(root, join(from, name), join(to, name)));
  if (left.length === 0) attempt(["ENOENT", "ENOTEMPTY"], from, () => anchored(root, from, rmdirSync));
  return left;
}

function moveOne(root: string, from: string, to: string): "moved" | "exists" | "missing" {
  try {
    return anchored(root, from, (source) => {
      const file = stat(source);
      if (file === undefined) return "missing";
      return anchored(root, to, (target) => (place(file, source, target) ? "moved" : "exists"), true);
    });
  } catch (error) {
    if (errno(error) === "ENOENT") return "missing";
    throw diskFault(error, from);
  }
}

/** False when the name is taken. A file goes by link, which never replaces; a folder by rename, which replaces an empty one at most. */
function place(file: Stats, source: string, target: string): boolean {
  if (stat(target) !== undefined) return false;
  return attempt(["EEXIST", "ENOTEMPTY"], source, () => {
    if (!file.isFile()) renameSync(source, target);
    else {
      linkSync(source, target);
      unlinkSync(source);
    }
  });
}

function foldersOnBothSides(root: string, from: string, to: string): string[] | undefined {
  const isFolder = (path: string): boolean => anchored(root, path, (safe) => stat(safe)?.isDirectory() ?? false);
  if (!isFolder(from) || !isFolder(to)) return undefined;
  return namesIn(root, from);
}

function stat(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
