/** A few lines on a terminal that are drawn anew in their place, at most twice a second, and leave nothing behind. */
import { terminalText } from "../../core/text/terminal-text.ts";
import type { Live } from "../../operations/operation.ts";
import type { Out } from "./output.ts";

const EVERY_MS = 500;

export class LiveLines implements Live {
  readonly #out: Out & { rows?: number };
  #drawn = 0;
  #at = Number.NEGATIVE_INFINITY;

  constructor(out: Out) {
    this.#out = out;
  }

  get width(): number {
    return this.#out.columns ?? 80;
  }

  get height(): number {
    return this.#out.rows ?? 24;
  }

  show(lines: readonly string[]): void {
    const now = performance.now();
    if (now - this.#at < EVERY_MS) return;
    this.#at = now;
    // In one write: a terminal that shows half of it would flicker.
    this.#out.write(this.#erasing() + lines.map((line) => terminalText(line, false)).join("\n"));
    this.#drawn = lines.length;
  }

  clear(): void {
    if (this.#drawn > 0) this.#out.write(this.#erasing());
    this.#drawn = 0;
    this.#at = Number.NEGATIVE_INFINITY;
  }

  #erasing(): string {
    if (this.#drawn === 0) return "";
    const up = this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : "";
    return `\r${up}\u001b[J`;
  }
}
