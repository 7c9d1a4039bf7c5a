/** A part of a log to be searched, and its log opened for it: by then the log may have been moved on, and its name taken by another. */
import { MidwatchError } from "../core/errors.ts";
import { SECRET_PRINTS, type SecretFinder, type SecretPrints, secretFinder } from "../core/secret-values.ts";
import { readJson } from "../disk/replace.ts";
import { ArchiveSource } from "./archive-source.ts";
import { LineIndex } from "./line-index.ts";
import { Log } from "./log.ts";
import { type FileIdentity, FileSource, isSameFile } from "./source.ts";

export interface Piece {
  /** Where the log may be, in the order in which it moves. */
  places: readonly string[];
  /** Which file it is while it is not packed. */
  file: FileIdentity | undefined;
  /** Where its index may be. */
  index: readonly string[];
  text: string;
  from: number;
  to: number;
  /** The file that tells what must not be seen in a hit; undefined when there is none. */
  secrets?: string | undefined;
}

export function openPiece({ places, file, index }: Piece): Log {
  for (const path of places) {
    const source = path.endsWith(".zst") ? ArchiveSource.open(path) : FileSource.open(path);
    if (source === undefined) continue;
    if (!(source instanceof FileSource) || (file !== undefined && isSameFile(source.opened, file)))
      return new Log(source, LineIndex.later(index), { type: "stdout", json: false });
    source.close();
  }
  throw takenAway("its log");
}

/** Read for the first hit; most logs have none. */
export function secretsOf({ secrets }: Piece): () => SecretFinder | undefined {
  let finder: SecretFinder | undefined;
  let known = secrets === undefined;
  return () => {
    if (known) return finder;
    const prints = readJson<SecretPrints>(secrets as string, { shape: SECRET_PRINTS }).value;
    if (prints === undefined) throw takenAway("what tells its secrets"); // No line is shown then.
    finder = secretFinder(prints);
    known = true;
    return finder;
  };
}

function takenAway(what: string): MidwatchError {
  return new MidwatchError("NOT_FOUND_FILE", `${what} was taken away while it was searched`);
}

/** Undefined for an archive, whose name is its own. */
export function fileOf({ source }: Log): FileIdentity | undefined {
  if (!(source instanceof FileSource)) return undefined;
  const { dev, ino, birthtimeMs } = source.opened;
  return { dev, ino, birth_ms: birthtimeMs };
}
