import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { diskFault, errno } from "./fault.ts";
import { syncFolder } from "./replace.ts";

/**
 * Makes a folder and those above it, each 0700. Node's own `recursive` answers ENOENT on a read-only file system and so
 * hides the reason; this one lets the true errno through.
 */
export function makeFolders(path: string): void {
  for (let tries = 0; tries < TRIES; tries++) {
    if (makeOne(path)) return;
    makeFolders(dirname(path));
  }
  throw new MidwatchError("NOT_WRITABLE", `${path} cannot be made there.`, { hint: "Name another folder." });
}
/** Somebody may delete what was just made; and some file systems, such as /proc, say for ever that the folder above is missing. */
const TRIES = 3;

/** False when the folder above is missing. */
function makeOne(path: string): boolean {
  try {
    mkdirSync(path, 0o700);
    syncFolder(dirname(path)); // Else a power cut takes it, with all that was synced in it.
    return true;
  } catch (error) {
    if (errno(error) === "EEXIST") return true;
    if (errno(error) === "ENOENT") return false;
    throw diskFault(error, path);
  }
}
