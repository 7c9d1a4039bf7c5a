/** What an agent says, joined from the pieces that CLIs stream: how often one sentence comes in one message. Bounded. */
import { hashOf } from "./shape.ts";

const SENTENCE_END = /[.!?]\s|\n/;
/** Shorter ones come again by nature. */
const SHORTEST = 24;
const LONGEST = 400;
const MOST = 512;

export class Said {
  readonly #counts = new Map<number, number>();
  #open = "";
  #most = 0;

  /** The most often one sentence was said in this message. */
  add(text: string): number {
    const parts = (this.#open + text.slice(0, LONGEST * 50)).split(SENTENCE_END);
    this.#open = (parts.pop() ?? "").slice(-LONGEST);
    for (const part of parts) this.#count(part.trim().toLowerCase());
    return this.#most;
  }

  /** Something else happened: the message is over. */
  end(): void {
    this.#counts.clear();
    this.#open = "";
    this.#most = 0;
  }

  #count(sentence: string): void {
    if (sentence.length < SHORTEST || !/\p{L}/u.test(sentence)) return;
    const hash = hashOf(sentence);
    const count = (this.#counts.get(hash) ?? 0) + 1;
    if (count === 1 && this.#counts.size >= MOST) return;
    this.#counts.set(hash, count);
    this.#most = Math.max(this.#most, count);
  }
}
