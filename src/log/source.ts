/** Bytes of a log by offset, whatever holds them: a file that may still grow, or an archive. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { errno, unsafe } from "../disk/fault.ts";

export interface Source {
  /** Bytes there are now. */
  size(): number;
  /** Fills `target` from `offset` on as far as there are bytes; returns how many. */
  read(target: Uint8Array, offset: number): number;
  close(): void;
}

/** Bytes that are in memory already. */
export class BufferSource implements Source {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  size(): number {
    return this.#bytes.length;
  }

  read(target: Uint8Array, offset: number): number {
    const part = this.#bytes.subarray(offset, offset + target.length);
    target.set(part);
    return part.length;
  }

  close(): void {}
}

/** Non-blocking: a FIFO at this name must not hang a reader. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** To note the time of a read in a file that grows costs more than half of what the read does. Only Linux has this, and only for one's own files. */
const QUIETLY = READ | (constants.O_NOATIME ?? 0);

function openToRead(path: string, follow: boolean): number {
  const links = follow ? 0 : constants.O_NOFOLLOW;
  try {
    return openSync(path, QUIETLY | links);
  } catch (error) {
    if (errno(error) === "ELOOP") throw unsafe(path, "is a symbolic link, and is not read");
    if (errno(error) !== "EPERM") throw error;
    return openSync(path, READ | links);
  }
}

/** Which file it was, to be told from another that has its name or its number since. */
export interface FileIdentity {
  dev: number;
  ino: number;
  birth_ms: number;
}

/** File systems that keep no birth give the time of the last change for it: that tells nothing. */
export function isSameFile(
  { dev, ino, birthtimeMs, ctimeMs }: Pick<Stats, "dev" | "ino" | "birthtimeMs" | "ctimeMs">,
  then: FileIdentity,
): boolean {
  return dev === then.dev && ino === then.ino && (birthtimeMs === then.birth_ms || birthtimeMs === ctimeMs);
}

export class FileSource implements Source, Disposable {
  readonly #fd: number;
  /** Of the open file when it was opened, whatever its name leads to now. */
  readonly opened: Stats;

  private constructor(fd: number, opened: Stats) {
    this.#fd = fd;
    this.opened = opened;
  }

  /** Undefined when there is no such file (yet). A link is followed only for files that a person named: ours are none. */
  static open(path: string, follow = false): FileSource | undefined {
    let fd: number;
    try {
      fd = openToRead(path, follow);
    } catch (error) {
      if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return undefined;
      throw error;
    }
    let kept = false;
    try {
      const opened = fstatSync(fd);
      kept = !opened.isDirectory(); // A folder in the place of a file holds nothing that could be read.
      return kept ? new FileSource(fd, opened) : undefined;
    } finally {
      if (!kept) closeSync(fd);
    }
  }

  size(): number {
    return fstatSync(this.#fd).size;
  }

  stat(): Stats {
    return fstatSync(this.#fd);
  }

  /** Tells a replaced or deleted file from the one that is open. */
  identity(): { ino: number; dev: number; nlink: number } {
    const { ino, dev, nlink } = fstatSync(this.#fd);
    return { ino, dev, nlink };
  }

  /** One read, without asking for the size first. Fewer bytes than fit: there the file ends. */
  readToEnd(target: Uint8Array, offset: number): number {
    return readSync(this.#fd, target, 0, target.length, offset);
  }

  read(target: Uint8Array, offset: number): number {
    let n = 0;
    while (n < target.length) {
      const got = readSync(this.#fd, target, n, target.length - n, offset + n);
      if (got === 0) break;
      n += got;
    }
    return n;
  }

  close(): void {
    closeSync(this.#fd);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
