/** A part of a log to be searched, and its log opened for it: by then the log may have been moved on, and its name taken by another. */
import { MidwatchError } from "../core/errors.ts";
import { SECRET_PRINTS, type SecretFinder, type SecretPrints, secretFinder } from "../core/secret-values.ts";
import type { RunPaths } from "../disk/layout.ts";
import { readFact, readSealed } from "../disk/sealed.ts";
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
  /** Where it stands what must not be seen in a hit; undefined when there is nothing. */
  secrets?: Pick<RunPaths, "secrets" | "sealed"> | undefined;
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
    const prints = secrets && readFact<SecretPrints>(secrets, secrets.secrets, SECRET_PRINTS);
    // No line is shown then.
    if (secrets && !prints && !readSealed(secrets.sealed).value) throw takenAway("what tells its secrets");
    finder = prints && secretFinder(prints);
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
