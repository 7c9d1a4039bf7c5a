/**
 * Which ids came shortly before: in a line that begins less than 256 KiB back. That bounds the memory (about a thousand ids), and it is a
 * property of the journal alone, so a reader that goes on from a cursor decides as one that read everything. Copies of an event
 * come from a writer that tried again at once or after a crash; who must know an id for ever keeps its own list.
 */
export const WINDOW_BYTES: number = 256 << 10;

/** The journal just before the place where reading begins. */
export interface Before {
  bytes: Buffer;
  /** The events in it, in their order. */
  ids(): Iterable<{ id: string; seq: number }>;
}

/** For a few ids it is quicker to look for them in the bytes than to read the events there. */
const LOOKS = 32;
const PLAIN = /^[\w.:-]+$/;

export class RecentIds {
  /** In the order of their last place. */
  readonly #places = new Map<string, number>();
  #before: Before | undefined;
  #looks = 0;

  constructor(before?: Before) {
    this.#before = before;
  }

  /** False when it came shortly before. */
  add(id: string, seq: number): boolean {
    if (this.#before !== undefined && (++this.#looks > LOOKS || !PLAIN.test(id) || this.#before.bytes.includes(id)))
      this.#read(this.#before);
    for (const [old, place] of this.#places) {
      if (place >= seq - WINDOW_BYTES) break;
      this.#places.delete(old);
    }
    const isNew = !this.#places.delete(id);
    this.#places.set(id, seq);
    return isNew;
  }

  #read(before: Before): void {
    const later = [...this.#places];
    this.#before = undefined;
    this.#places.clear();
    for (const { id, seq } of before.ids()) this.add(id, seq);
    for (const [id, seq] of later) this.add(id, seq);
  }
}
