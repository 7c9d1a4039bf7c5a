/**
 * Files that a CLI writes beside its stream, read on as they grow: of the session that the stream names, and of the threads that are
 * part of it. They lie where the agent can write, so no link is followed, what is read at once is bounded, and what cannot be read
 * leaves the figures as the stream tells them.
 */
import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { throwIfExhausted } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import { anchored, namesIn } from "../disk/inside.ts";
import type { Aside, AsideReader, SessionUse } from "../drivers/driver.ts";
import { forward } from "../log/lines.ts";
import { FileSource } from "../log/source.ts";
import type { Besides } from "./besides.ts";

/** Of all files in one look. */
const READ_BYTES = 4 << 20;
/** A longer line holds no figure. */
const LINE_BYTES = 1 << 20;
const HEAD_BYTES = 256;
/** Looking for new files; until the first one is there sooner. */
const SEARCH_MS = 1000;
const FIRST_MS = 200;
/** Threads of one run, and files that turned out to be others'. */
const FILES_MOST = 4096;
/** Between the clock of the run's folder and that of a thread's name. */
const EARLIER_MS = 60_000;

export interface AsideOf {
  /** When the run began, and where. */
  sinceMs: number;
  cwd: string;
  before: SessionUse | null;
  /** Below which folder its CLI writes them. */
  folder: string;
}

interface Followed {
  path: string;
  main: boolean;
  reader: AsideReader;
  offset: number;
}

export class AsideFiles {
  readonly #aside: Aside;
  readonly #of: AsideOf;
  #root: string | undefined;
  readonly #files = new Map<string, Followed>();
  readonly #others = new Set<string>();
  readonly #folders = new Map<string, number>();
  #searchAt = 0;

  constructor(aside: Aside, of: AsideOf) {
    this.#aside = aside;
    this.#of = of;
  }

  /** Whether there may be more to read: a stat a file. */
  hasNews(session: string | null): boolean {
    if (session === null) return false;
    if (performance.now() >= this.#searchAt) return true;
    return [...this.#files.values()].some(({ path, offset }) => sizeOf(path) > offset);
  }

  /**
   * How many bytes were read, and whether there are more. Of a last line that is not whole the rest is still to come. `last`: nobody looks
   * again, so new files are looked for in any case.
   */
  read(session: string | null, last = false): { bytes: number; more: boolean } {
    if (session === null) return { bytes: 0, more: false };
    try {
      if (last || performance.now() >= this.#searchAt) this.#search(session);
    } catch (error) {
      throwIfExhausted(error);
    }
    let bytes = 0;
    for (const file of this.#files.values()) {
      if (bytes >= READ_BYTES) break;
      bytes += this.#readOn(file, session, READ_BYTES - bytes);
    }
    return { bytes, more: bytes >= READ_BYTES };
  }

  get used(): Besides {
    const all = [...this.#files.values()];
    const main = all.find((file) => file.main)?.reader;
    const others = all.filter((file) => !file.main).flatMap(({ reader }) => reader.used());
    return { together: this.#aside.together, total: main?.total ?? null, main: main?.used() ?? [], others };
  }

  #search(session: string): void {
    this.#searchAt = performance.now() + (this.#files.size > 0 ? SEARCH_MS : FIRST_MS);
    // A person may have put the home of a CLI elsewhere by a link; below it none is followed.
    const { folder: named, cwd } = this.#of;
    this.#root ??= join(realpathSync(dirname(named)), basename(named));
    const root = this.#root;
    for (const place of this.#aside.places(session, Date.now(), cwd)) {
      const folder = join(root, place);
      const changedMs = lstatSync(folder, { throwIfNoEntry: false })?.mtimeMs;
      if (changedMs === undefined || this.#folders.get(folder) === changedMs) continue;
      // One that changed just now may change again without its time telling.
      if (Date.now() - changedMs > SEARCH_MS) this.#folders.set(folder, changedMs);
      for (const name of namesIn(root, folder)) this.#meet(join(folder, name), name, session);
    }
  }

  #meet(path: string, name: string, session: string): void {
    const found = this.#aside.threadOf(name);
    if (found === null || this.#files.has(path) || this.#others.has(path)) return;
    const { sinceMs, before } = this.#of;
    const main = found.id === session;
    const late = found.beganMs === null || found.beganMs >= sinceMs - EARLIER_MS;
    if ((!main && !late) || this.#files.size + this.#others.size >= FILES_MOST) return;
    this.#files.set(path, { path, main, reader: this.#aside.reader(sinceMs, main ? before : null), offset: 0 });
  }

  #readOn(file: Followed, session: string, most: number): number {
    const from = file.offset;
    try {
      if (sizeOf(file.path) <= from) return 0;
      using source = anchored(this.#root as string, file.path, (safe) => FileSource.open(safe));
      if (!source?.opened.isFile()) return 0;
      for (const line of forward(source, from, Math.min(source.opened.size, from + most))) {
        if (!line.whole) {
          // Longer than all that is read at once: passed over.
          if (line.end - from >= most) file.offset = line.end;
          break;
        }
        file.offset = line.end;
        if (line.bytes.length > LINE_BYTES || !this.#aside.tells(line.bytes.toString("latin1", 0, HEAD_BYTES)))
          continue;
        file.reader.read(parseJson(line.bytes.toString()));
        if (file.main || isPart(file.reader, session)) continue;
        this.#files.delete(file.path);
        this.#others.add(file.path);
        break;
      }
    } catch (error) {
      throwIfExhausted(error);
    }
    return file.offset - from;
  }
}

/** Its first telling line says so. */
function isPart({ thread }: AsideReader, session: string): boolean {
  return thread?.session === session;
}

function sizeOf(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
