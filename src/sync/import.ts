/** What others have pushed, added to our files of their origins. Files only grow: what is here stays, whatever a remote says. */
import { statSync } from "node:fs";
import type { OriginId } from "../core/ids.ts";
import { growLines } from "../disk/append.ts";
import { removeFile } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import { takeLock } from "../disk/lock.ts";
import { replace } from "../disk/replace.ts";
import { wholeBytes } from "./line.ts";
import { readOrigin, renewOrigin } from "./origin.ts";
import { type Blob, type Repository, SyncFailure, type Tip } from "./repository.ts";

const LOCK_MS = 10_000;
const NEWLINE = 10;

export class Importer {
  readonly #layout: Layout;
  readonly #repository: Repository;
  /** What was taken over already. */
  readonly #known = new Map<OriginId, string>();

  constructor(layout: Layout, repository: Repository) {
    this.#layout = layout;
    this.#repository = repository;
  }

  /** Gives the origins whose file at the remote does not continue ours: somebody rewrote the branch. */
  async takeOver(tip: Tip): Promise<OriginId[]> {
    const rewritten: OriginId[] = [];
    for (const [origin, blob] of tip.files) {
      if (this.#known.get(origin) === blob.sha && this.#has(origin, blob)) continue;
      const own = readOrigin(this.#layout);
      const isOwn = own?.origin === origin || own?.before.includes(origin);
      const bytes = await this.#repository.read(blob);
      const theirs = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
      const fits = isOwn ? await this.#mergeOwn(origin, theirs) : this.#merge(origin, theirs);
      if (fits) this.#known.set(origin, blob.sha);
      else rewritten.push(origin);
    }
    return rewritten;
  }

  #has(origin: OriginId, { bytes }: Blob): boolean {
    return (statSync(this.#layout.sync.file(origin), { throwIfNoEntry: false })?.size ?? 0) >= bytes;
  }

  #merge(origin: OriginId, theirs: Buffer): boolean {
    const path = this.#layout.sync.file(origin);
    const ours = wholeBytes(path);
    const common = Math.min(ours.length, theirs.length);
    if (!ours.subarray(0, common).equals(theirs.subarray(0, common))) return false;
    if (theirs.length > common) growLines(path, theirs.subarray(common));
    return true;
  }

  async #mergeOwn(origin: OriginId, theirs: Buffer): Promise<boolean> {
    const fits = await this.#locked("exportLock", () => this.#merge(origin, theirs));
    if (!fits) await this.#locked("snapshotLock", () => this.#locked("exportLock", () => this.#leave(origin, theirs)));
    return true;
  }

  /**
   * Somebody else pushes under our name: a copy of this workspace. The name is left to them, and what of ours they do not have goes
   * out again under a new one. What was rendered of our file is made anew.
   */
  #leave(origin: OriginId, theirs: Buffer): void {
    const { root, sync, snapshotState } = this.#layout;
    renewOrigin(this.#layout, []);
    replace(sync.file(origin), theirs);
    for (const path of [snapshotState, sync.view.snapshotState]) removeFile(root, path);
  }

  async #locked<T>(name: "exportLock" | "snapshotLock", act: () => T | Promise<T>): Promise<T> {
    const { sync, snapshotLock } = this.#layout;
    using lock = await takeLock(name === "exportLock" ? sync.exportLock : snapshotLock, LOCK_MS);
    if (lock === undefined) throw new SyncFailure("local", "Another process does not come to an end with its export.");
    return await act();
  }
}
