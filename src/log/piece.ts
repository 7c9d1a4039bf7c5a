/** A part of a log to be searched, and its log opened for it: by then the log may have been moved on, and its name taken by another. */
import { MidwatchError } from "../core/errors.ts";
import type { SecretPrints } from "../core/secret-values.ts";
import { Log } from "./log.ts";
import { type FileIdentity, FileSource, isSameFile } from "./source.ts";

export interface Piece {
  /** Where the log may be, in the order in which it moves. */
  places: readonly string[];
  /** Which file it is while it is not packed. */
  file: FileIdentity | undefined;
  index: string | undefined;
  text: string;
  from: number;
  to: number;
  /** What must not be seen in a hit. */
  secrets?: SecretPrints | undefined;
}

export function openPiece({ places, file, index }: Piece): Log {
  for (const path of places) {
    const log = Log.open(path, index, { type: "stdout", json: false });
    if (log === undefined) continue;
    const { source } = log;
    if (!(source instanceof FileSource) || (file !== undefined && isSameFile(source.opened, file))) return log;
    log.close();
  }
  throw new MidwatchError("NOT_FOUND_FILE", "its log was taken away while it was searched");
}

/** Undefined for an archive, whose name is its own. */
export function fileOf({ source }: Log): FileIdentity | undefined {
  if (!(source instanceof FileSource)) return undefined;
  const { dev, ino, birthtimeMs } = source.opened;
  return { dev, ino, birth_ms: birthtimeMs };
}
