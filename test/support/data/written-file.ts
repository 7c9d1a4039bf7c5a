/** A file as some logger writes it: lines, some of them in two pieces, and one way of being rotated, cut or replaced. Knows what it wrote. */
import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { CursorRow } from "../../../src/registry/registry.ts";

export const KINDS = ["growing", "renamed", "copied", "shorter", "replaced"] as const;
type Kind = (typeof KINDS)[number];

const ROTATED_KEPT = 3;

export class WrittenFile {
  readonly path: string;
  readonly kind: Kind;
  /** Every whole line. */
  readonly written = new Set<string>();
  /** Bytes that a reader has seen and can not have read. */
  due = 0;
  changes = 0;
  readonly #next: () => number;
  #count = 0;
  /** The second piece of a line whose first is written. */
  #rest = "";

  constructor(path: string, kind: Kind, next: () => number) {
    this.path = path;
    this.kind = kind;
    this.#next = next;
    writeFileSync(path, "");
  }

  get loses(): boolean {
    return this.kind !== "growing" && this.kind !== "renamed";
  }

  write(count: number): void {
    let text = "";
    this.finish();
    for (let i = 0; i < count; i++) text += `${this.#line()}\n`;
    const half = this.#next() < 0.3 && count > 0;
    const last = half ? this.#line() : "";
    const cut = Math.floor(last.length / 2);
    appendFileSync(this.path, text + last.slice(0, cut));
    if (half) this.#rest = `${last.slice(cut)}\n`;
  }

  /** No line is left half. */
  finish(): void {
    if (this.#rest !== "") appendFileSync(this.path, this.#rest);
    this.#rest = "";
  }

  /** What this kind of file meets. `cursor`: how far a reader has come. */
  disturb(cursor: CursorRow | undefined): void {
    // Of two rotations between two looks nobody can find the file in the middle.
    if (this.kind === "renamed" && cursor?.file?.ino !== statSync(this.path).ino) return;
    this.changes++;
    this.finish();
    switch (this.kind) {
      case "growing":
        break;
      case "renamed": {
        const old = `${this.path}.${this.changes}`;
        renameSync(this.path, old);
        if (this.#next() < 0.5) appendFileSync(old, `${this.#line()}\n`); // Its writer has not noticed yet.
        writeFileSync(this.path, "");
        rmSync(`${this.path}.${this.changes - ROTATED_KEPT}`, { force: true });
        break;
      }
      case "copied":
        copyFileSync(this.path, `${this.path}.copy`);
        truncateSync(this.path);
        break;
      case "shorter": {
        const bytes = readFileSync(this.path);
        truncateSync(this.path, bytes.lastIndexOf(10, Math.floor(this.#next() * bytes.length)) + 1);
        break;
      }
      case "replaced":
        writeFileSync(`${this.path}.new`, `${this.#line()}\n`);
        renameSync(`${this.path}.new`, this.path);
        break;
    }
  }

  /** The same while nobody reads. */
  lose(cursor: CursorRow | undefined): void {
    const mark = cursor?.file;
    if (this.loses && cursor && mark?.ino === statSync(this.path).ino && this.kind !== "shorter")
      this.due += Math.max(0, mark.seen - cursor.offset);
    this.disturb(cursor);
  }

  #line(): string {
    const line = JSON.stringify({ n: this.#count++, pad: "x".repeat(Math.floor(this.#next() * 300)) });
    this.written.add(line);
    return line;
  }
}
