/**
 * Which ids came shortly before: in a line that begins less than 1 MiB back. That bounds the memory (some thousand ids), and it is a
 * property of the journal alone, so a reader that goes on from a cursor decides as one that read everything. Copies of an event
 * come from a writer that tried again at once or after a crash; who must know an id for ever keeps its own list.
 */
export const WINDOW_BYTES: number = 1 << 20;

export class RecentIds {
  /** In the order of their last place. */
  readonly #places = new Map<string, number>();

  /** False when it came shortly before. */
  add(id: string, seq: number): boolean {
    for (const [old, place] of this.#places) {
      if (place >= seq - WINDOW_BYTES) break;
      this.#places.delete(old);
    }
    const isNew = !this.#places.delete(id);
    this.#places.set(id, seq);
    return isNew;
  }
}
