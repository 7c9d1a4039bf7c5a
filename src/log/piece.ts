/** A part of a log to be searched, and its log opened for it: by then the log may have been moved on, and its name taken by another. */
import { MidwatchError } from "../core/errors.ts";
import type { SecretPrints } from "../core/secret-values.ts";
import { Log } from "./log.ts";
import { FileSource } from "./source.ts";

export interface Piece {
  /** Where the log may be, in the order in which it moves. */
  places: readonly string[];
  /** Which file it is while it is not packed. */
  file: FileName | undefined;
  index: string | undefined;
  text: string;
  from: number;
  to: number;
  /** What must not be seen in a hit. */
  secrets?: SecretPrints | undefined;
}

/** Numbers of deleted files are given again; the time of birth tells them apart. */
interface FileName {
  ino: number;
  birthtimeMs: number;
}

export function openPiece({ places, file, index }: Piece): Log {
  for (const path of places) {
    const log = Log.open(path, index, { type: "stdout", json: false });
    if (log === undefined) continue;
    const now = fileOf(log);
    if (now === undefined || (now.ino === file?.ino && now.birthtimeMs === file.birthtimeMs)) return log;
    log.close();
  }
  throw new MidwatchError("NOT_FOUND_FILE", "its log was taken away while it was searched");
}

/** Undefined for an archive, whose name is its own. */
export function fileOf({ source }: Log): FileName | undefined {
  return source instanceof FileSource ? { ino: source.opened.ino, birthtimeMs: source.opened.birthtimeMs } : undefined;
}
