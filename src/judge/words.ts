/**
 * Whether an agent works on its task, told by words alone: what it says and calls, against the task's own words and against those of
 * steps that shared some with it before (a task names a class, the class leads to files). It can tell that an agent works on
 * something else; it cannot tell whether what it does is right. Where either side has too few words of its own it tells nothing.
 */
import { COMMON_WORDS } from "./common-words.ts";
import { hashOf } from "./shape.ts";

/** Below this many words of its own a task says too little to judge by. */
const RICH_TASK = 6;
const WINDOW = 5;
/** Below this many words in the window an agent says too little. */
const RICH_WINDOW = 15;
/** Shared words by the root of all words in the window: 3 of 16, 7 of 100. */
const SHARED = 0.65;
/** A step teaches its words when it shares at least this with the task. */
const TEACHES = { words: 2, share: 0.2 };
/** So many steps near the task show that its words and those of the work are the same. */
const SETTLED = 8;
const MOST_WORDS = 600;
const MOST_TEXT = 6000;

export class Words {
  readonly #known: Set<number>;
  readonly #window: Set<number>[] = [];
  #apart = 0;
  /** Steps that had to do with the task. Where none ever had, its words and those of the work are two languages, and tell nothing. */
  #near = 0;

  constructor(task: string) {
    this.#known = wordsOf(task.slice(0, MOST_TEXT * 4));
  }

  get rich(): boolean {
    return this.#known.size >= RICH_TASK;
  }

  /** More of the task, in a person's words. */
  learn(text: string): void {
    for (const word of wordsOf(text.slice(0, MOST_TEXT * 4))) {
      // What was asked longest ago gives way.
      const [oldest] = this.#known;
      if (this.#known.size >= MOST_WORDS && oldest !== undefined) this.#known.delete(oldest);
      this.#know(word);
    }
    this.#apart = 0;
    this.#near = 0;
  }

  /** Steps in a row that were about something else. A window with too few words leaves the count as it is. */
  add(text: string): number {
    if (!this.rich) return 0;
    const words = wordsOf(text.slice(0, MOST_TEXT));
    this.#window.push(words);
    if (this.#window.length > WINDOW) this.#window.shift();
    const all = new Set(this.#window.flatMap((step) => [...step]));
    const near = this.#shared(all) / Math.sqrt(all.size || 1) >= SHARED;
    if (near && this.#window.length === WINDOW) this.#near++;
    if (this.#window.length === WINDOW && all.size >= RICH_WINDOW)
      this.#apart = near || this.#near < SETTLED ? 0 : this.#apart + 1;
    this.#learn(words);
    return this.#apart;
  }

  #learn(words: ReadonlySet<number>): void {
    const shared = this.#shared(words);
    if (shared < TEACHES.words || shared / words.size < TEACHES.share) return;
    for (const word of words) this.#know(word);
  }

  #know(word: number): void {
    if (this.#known.size < MOST_WORDS) this.#known.add(word);
  }

  #shared(words: ReadonlySet<number>): number {
    let count = 0;
    for (const word of words) if (this.#known.has(word)) count++;
    return count;
  }
}

/** As numbers: a cut piece of a text would keep the whole text in memory. */
function wordsOf(text: string): Set<number> {
  const words = new Set<number>();
  for (const word of ownWords(text)) {
    if (words.size >= MOST_WORDS) break;
    words.add(hashOf(word));
  }
  return words;
}

/** What is said in other words than agents always use. Identifiers count whole and by their parts. */
export function* ownWords(text: string): Generator<string> {
  for (const [identifier] of text.matchAll(/[\p{L}_][\p{L}\p{N}_]{2,}/gu)) {
    const parts = identifier.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/);
    for (const word of parts.length > 1 ? [identifier, ...parts] : [identifier]) {
      const lower = word.toLowerCase();
      if (lower.length > 2 && lower.length <= 40 && !COMMON_WORDS.has(lower)) yield lower;
    }
  }
}
