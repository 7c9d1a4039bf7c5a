/** Reads files through a workspace; what was read is written down before its place is kept. */
import { appendFileSync, readFileSync } from "node:fs";
import { openWorkspace, type Workspace } from "../../../src/fleet/workspace.ts";

interface Consumed {
  path: string;
  /** The place that it was read from. */
  from: string;
  lines: string[];
}

const READER = "reader-1";

/** What was written down, without what a kill tore: its place was not kept. */
export function consumed(out: string): Consumed[] {
  return readFileSync(out, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return line === "" ? [] : [JSON.parse(line) as Consumed];
      } catch {
        return [];
      }
    });
}

export class FileConsumer implements Disposable {
  readonly #out: string;
  readonly #workspace: Workspace;

  constructor(root: string, out: string) {
    this.#out = out;
    this.#workspace = openWorkspace({ workspace: root });
  }

  /** True when there was anything new. */
  look(paths: readonly string[]): boolean {
    let found = false;
    for (const path of paths) {
      const before = this.#workspace.verdicts.positions.all().find(({ log }) => log === path);
      const from = before === undefined ? "start" : `${before.generation}.${before.offset}`;
      const { lines, restarted, commit } = this.#workspace.verdicts.readFile(READER, path);
      if (lines.length === 0 && restarted === null) continue;
      found = true;
      // A kill may tear a long write: the next record begins a line of its own.
      appendFileSync(this.#out, `\n${JSON.stringify({ path, from, lines } satisfies Consumed)}\n`);
      commit();
    }
    return found;
  }

  [Symbol.dispose](): void {
    this.#workspace.close();
  }
}
