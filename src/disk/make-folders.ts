import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { diskFault, errno } from "./fault.ts";

/**
 * Makes a folder and those above it, each 0700. Node's own `recursive` answers ENOENT on a read-only file system and so
 * hides the reason; this one lets the true errno through.
 */
export function makeFolders(path: string): void {
  if (makeOne(path)) return;
  makeFolders(dirname(path));
  // Some file systems, such as /proc, have no place for a new folder and say that it is not there.
  if (!makeOne(path))
    throw new MidwatchError("NOT_WRITABLE", `${path} cannot be made there.`, { hint: "Name another folder." });
}

/** False when the folder above is missing. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path, 0o700);
    return true;
  } catch (error) {
    if (errno(error) === "EEXIST") return true;
    if (errno(error) === "ENOENT") return false;
    throw diskFault(error, path);
  }
}
