/**
 * Files that are read again and again stay open: to open and close one costs as much as to read its new lines. What is held is read to
 * its end whatever happens to its name, and its inode is not given to another file meanwhile.
 */
import { readFileSync, type Stats, statSync } from "node:fs";
import { FileSource } from "../log/source.ts";
import type { FileMark } from "../registry/registry.ts";

/** A file that was looked at: what its name led to, and a way to its bytes. */
export interface Looked {
  source: FileSource;
  stat: Pick<Stats, "dev" | "ino" | "birthtimeMs" | "ctimeMs" | "size">;
}

/** What is deleted keeps its room on disk while it is held. */
const HELD_MOST = 1024;
/** Where nobody tells how many descriptors the process may have. */
const HELD_UNKNOWN = 128;

export class HeldFiles implements Disposable {
  readonly #held = new Map<string, FileSource>();
  #most: number | undefined;

  /** The file of the last look, if it is held. */
  held(path: string, mark: FileMark): FileSource | undefined {
    const held = this.#held.get(path);
    return held?.opened.ino === mark.ino && held.opened.dev === mark.dev ? held : undefined;
  }

  /** Undefined when there is no such file. `mark`: the file of the last look. What is given is to be released. */
  look(path: string, mark: FileMark | null): Looked | undefined {
    const held = this.#held.get(path);
    if (held === undefined) return openFile(path);
    const now = held.stat();
    // It grew: that comes before anything that another file of this name may hold.
    if (mark !== null && mark.ino === now.ino && mark.dev === now.dev && now.size > mark.seen)
      return { source: held, stat: now };
    const named = statSync(path, { throwIfNoEntry: false });
    if (named !== undefined && named.ino === now.ino && named.dev === now.dev) return { source: held, stat: named };
    this.#held.delete(path);
    held.close();
    return named && openFile(path);
  }

  release(path: string, { source }: Looked): void {
    if (this.#held.has(path)) return;
    // A FIFO that is held open would look to its writers as if somebody read it.
    this.#most ??= descriptors();
    if (this.#held.size < this.#most && source.opened.isFile()) this.#held.set(path, source);
    else source.close();
  }

  [Symbol.dispose](): void {
    for (const source of this.#held.values()) source.close();
    this.#held.clear();
  }
}

/** A quarter of what the process may have: others in it need some too. */
function descriptors(): number {
  try {
    const most = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return most === undefined ? HELD_UNKNOWN : Math.min(HELD_MOST, Number(most) >> 2);
  } catch {
    return HELD_UNKNOWN;
  }
}

export function openFile(path: string): Looked | undefined {
  const source = FileSource.open(path, true);
  return source && { source, stat: source.opened };
}
