/**
 * One run's log as it is on disk now: in logs/, moved to archive/, compressed, or remade after a deletion; the bytes at an offset are
 * the same in each. A restart moves files at any moment, and what is opened here is surely this run's. One log is open at a time: it
 * is valid until the next is opened, or until it is closed. While nothing has changed, asking costs one stat.
 */
import { statSync } from "node:fs";
import { replaceFastInside } from "../disk/write-inside.ts";
import type { Facts } from "../facts/facts.ts";
import { KnownFacts } from "../facts/known-facts.ts";
import { type LogPath, openAt } from "../facts/log-path.ts";
import { hasEnded } from "../facts/observe.ts";
import { hasFact, hasLater, runNumbers } from "../facts/run-numbers.ts";
import { buildIndex } from "../log/build-index.ts";
import { LineIndex } from "../log/line-index.ts";
import { Log } from "../log/log.ts";
import { ReadMark } from "../log/read-mark.ts";
import { BufferSource, FileSource, type Source } from "../log/source.ts";
import { isInUse } from "../process/identity.ts";
import type { Context, RunName } from "../workspace/context.ts";

export interface RunLogOf extends RunName {
  stderr?: boolean;
  /** The driver's CLI speaks JSON, so a line that is none is an error. */
  json: boolean;
}

/** One look at a run: what it printed so far, and whether more can come. */
export interface Look {
  run: number;
  /** Undefined while there is no file. */
  log: Log | undefined;
  /** What may be read now ends here: of a living run only whole lines. */
  end: number;
  live: boolean;
  /** The number of the run after this one, when there is one. */
  next: number | undefined;
  /** The log was cut since the look before, and what is there from this line on was not read yet. */
  cutTo: number | undefined;
}

/** Below this a scan is as quick as an index. */
const INDEX_BYTES = 4 << 20;

export class RunLog implements Disposable {
  readonly of: RunLogOf;
  readonly #context: Pick<Context, "layout">;
  readonly #known = new KnownFacts();
  #opened: { log: Log; path: LogPath } | undefined;
  /** The plain file as it was when it was opened last. */
  #file: { path: string; ino: number; size: number } | undefined;
  #facts: Facts | undefined;
  #mark: ReadMark | undefined;
  /** The last look. */
  now: Look | undefined;
  #asksFile = false;

  constructor(context: Pick<Context, "layout">, of: RunLogOf) {
    this.#context = context;
    this.of = of;
  }

  /** Where the open log is. */
  get path(): LogPath | undefined {
    return this.#opened?.path;
  }

  look(): Look {
    const { layout } = this.#context;
    const { task, agent, run } = this.of;
    // Asked before the size: what is printed in between is read at the next look.
    this.#facts = this.#known.read(layout.run(task, agent, run));
    const live = this.#facts.intent !== undefined && !hasEnded(this.#facts);
    const next = this.#next();
    const log = this.open(live);
    const end = log?.end(live) ?? 0;
    this.now = { run, log, end, live, next, cutTo: log && this.#cutTo(log.source, end) };
    return this.now;
  }

  #cutTo(source: Source, end: number): number | undefined {
    const before = this.#mark;
    const goesOn = before?.goOn(source, end) ?? before?.offset;
    // A log that was deleted or renamed is shorter for a moment, while it is put back.
    if (goesOn === undefined || goesOn !== before?.offset || end > goesOn) this.#mark = new ReadMark(source, end);
    return goesOn === before?.offset ? undefined : goesOn;
  }

  /** Whether all is as at the last look, as far as one stat tells: of the file, or in turn with it of the folder of facts. */
  isStill(printed = false): boolean {
    if (!this.now?.live) return this.now !== undefined && this.#next() === this.now.next;
    this.#asksFile = printed || !this.#asksFile;
    const keeper = this.#facts?.claim?.pid;
    if (this.#asksFile) return keeper !== undefined && this.isUnchanged() && isInUse(keeper);
    const { task, agent, run } = this.of;
    return this.#known.read(this.#context.layout.run(task, agent, run)) === this.#facts;
  }

  /** Whether the file is as it was when it was opened last. */
  isUnchanged(): boolean {
    const now = this.#file && statSync(this.#file.path, { throwIfNoEntry: false });
    return now !== undefined && now.ino === this.#file?.ino && now.size === this.#file.size;
  }

  /** Bytes of the file when it was opened last. */
  get size(): number {
    return this.#file?.size ?? 0;
  }

  #next(): number | undefined {
    const { layout } = this.#context;
    const { task, agent, run } = this.of;
    return runNumbers(this.#context, this.of).find((n) => n > run && hasFact(layout.run(task, agent, n), "start"));
  }

  /** Undefined while there is no file. Of a run that is not `live` a missing index is made. */
  open(live: boolean): Log | undefined {
    // The name in logs/ belongs to this run as long as no later one has an intent. A restart moves this run's log away, writes the
    // intent, and only then is the next one's made under the same name: what was opened may be that one.
    for (let newest = !hasLater(this.#context, this.of); ; newest = false) {
      const opened = openAt(this.#context.layout, { ...this.of, newest }, (path) => {
        const log = this.#openAt(path, live);
        return log && { log, path };
      });
      let ours = false;
      try {
        ours = !newest || !hasLater(this.#context, this.of);
      } finally {
        if (!ours) opened?.log.close();
      }
      if (ours) return this.#hold(opened);
    }
  }

  #hold(opened: { log: Log; path: LogPath } | undefined): Log | undefined {
    this.close(); // Not before: whoever cannot open it now still has what was open.
    this.#opened = opened;
    const { log: { source } = {}, path } = opened ?? {};
    const plain = path !== undefined && source instanceof FileSource;
    this.#file = plain ? { path: path.log, ino: source.opened.ino, size: source.opened.size } : undefined;
    return opened?.log;
  }

  close(): void {
    this.#opened?.log.close();
    this.#opened = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #openAt(path: LogPath, live: boolean): Log | undefined {
    const { stderr = false, json } = this.of;
    const options = { type: stderr ? "stderr" : "stdout", json: json && !stderr } as const;
    const log = Log.open(path.log, stderr ? undefined : path.index, options);
    if (log === undefined || stderr) return log;
    try {
      const size = log.source.size();
      if (log.index.fits(log.source) && (log.index.length > 0 || live || size < INDEX_BYTES)) return log;
      const { root } = this.#context.layout;
      const index = live ? new LineIndex() : remadeIndex(root, path.index, log.source); // Of a living one its keeper is at it.
      log.index.close();
      return new Log(log.source, index, options);
    } catch (error) {
      log.close(); // A damaged archive: each look at it would keep a descriptor.
      throw error;
    }
  }
}

function remadeIndex(root: string, path: string, source: Source): LineIndex {
  const entries = buildIndex(source, source.size());
  try {
    replaceFastInside(root, path, entries);
  } catch {
    // A disk that cannot be written: the index serves this reader and is gone.
  }
  return new LineIndex(new BufferSource(entries));
}
