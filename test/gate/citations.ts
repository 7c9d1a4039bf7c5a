/** What the sources say: which tests begin their titles with which ids. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Citation {
  file: string;
  ids: string[];
  /** As it stands in the source, with its placeholders. */
  title: string;
}

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCES = ["src/**/*.test.ts", "web/src/**/*.test.ts", "test/**/*.test.ts"];
/** Their titles are examples. */
const OF_THE_GATE = ["test/requirements.test.ts", "test/gate/gate.test.ts"];

const IDS = /^R-\d+\.\d+(?:, R-\d+\.\d+)*\b/;

/** The ids that a title begins with: one, or several with commas between. */
export const idsOf = (title: string): string[] => IDS.exec(title)?.[0].split(", ") ?? [];

export function citationsIn(file: string, source: string): Citation[] {
  const titles = source.matchAll(/(["'`])(R-\d+\.\d+\b(?:\\.|(?!\1)[^\\])*)\1/g);
  return [...titles].map(([, , title = ""]) => ({ file, ids: idsOf(title), title }));
}

export function citations(root = ROOT): Citation[] {
  const files = globSync(SOURCES, { cwd: root }).filter((path) => !OF_THE_GATE.includes(path));
  return files.sort().flatMap((file) => citationsIn(file, readFileSync(join(root, file), "utf8")));
}

/** The part of a test's name that cites: all of it, or a row of a table behind the words for the whole table ("the next step: R-..."). */
export const citedPart = (name: string): string => /(?:^|: )(R-\d+\.\d+\b[\s\S]*)/.exec(name)?.[1] ?? name;

/** Whether a test of this name can be the one that a title in the source makes. */
export function isOf(title: string, name: string): boolean {
  const parts = title
    .split(/\\.|%[sdifjoOc#$]|\$\{[^}]*\}|\$[\w.]+/)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[\\s\\S]*")}$`).test(name);
}
