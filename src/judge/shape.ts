/**
 * The shape of a text: what stays the same when an agent does the same thing again. Numbers, hashes and temporary names change from
 * one try to the next and are hidden; `counters` looks at those that count. Everything is bounded, because a tool may print a book.
 */

/** Of a long text its two ends: errors stand at either. */
const MOST_CHARS = 16_384;
const MOST_LINES = 400;

const NUMBERS = /0x[0-9a-f]+|\b[0-9a-f]{7,}\b|\d+(?:\.\d+)*/gi;
const TEMPORARY = /\/(?:tmp|var\/folders)\/[\w./-]+/g;

export function bounded(text: string, most: number = MOST_CHARS): string {
  if (text.length <= most) return text;
  const half = most >> 1;
  return `${text.slice(0, half)}\n${text.slice(-half)}`;
}

export function shapeOf(line: string): string {
  return line.replaceAll(TEMPORARY, "/tmp/#").replaceAll(NUMBERS, "#").replaceAll(/\s+/g, " ").trim();
}

/** The lines of a text that say something, with numbers hidden. */
export function shapedLines(text: string): string[] {
  const lines: string[] = [];
  for (const line of bounded(text).split("\n")) {
    const shape = shapeOf(line);
    if (!/[\p{L}\p{N}#]/u.test(shape)) continue;
    lines.push(shape);
    if (lines.length === MOST_LINES) break;
  }
  return lines;
}

/** A small integer for a text (31 bits, which V8 keeps without an object): a thousand agents are watched in one process. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) & 0x7fffffff;
}

/** What was seen, the newest `most` of it: memory stays the same however long a run goes on. */
export class Recent {
  readonly #most: number;
  readonly #counts = new Map<number, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** How often before. */
  add(hash: number): number {
    const before = this.#counts.get(hash) ?? 0;
    this.#counts.delete(hash);
    this.#counts.set(hash, before + 1);
    if (this.#counts.size > this.#most) {
      const [oldest] = this.#counts.keys();
      if (oldest !== undefined) this.#counts.delete(oldest);
    }
    return before;
  }
}
