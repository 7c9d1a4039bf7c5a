/** The files a tool was asked to touch, from its input: each CLI and each tool has its own word for them. */
import { fieldsOf, listOf, textOf } from "./fields.ts";

const SINGLE = ["file_path", "filePath", "path", "notebook_path", "absolute_path", "dir_path"] as const;
const LISTS = ["paths", "files", "changes", "edits"] as const;
const PATCHES = ["patchText", "patch", "input"] as const;
const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;
const MOST = 100;

export function pathsOf(input: unknown): string[] {
  const found = new Set<string>();
  const add = (value: unknown): void => {
    const path = textOf(value);
    if (path !== null && found.size < MOST) found.add(path);
  };
  const fields = fieldsOf(input);
  for (const key of SINGLE) add(fields[key]);
  for (const key of LISTS) {
    for (const entry of listOf(fields[key])) {
      add(entry);
      for (const inner of SINGLE) add(fieldsOf(entry)[inner]);
    }
  }
  for (const key of PATCHES) {
    for (const [, path] of (textOf(fields[key]) ?? "").matchAll(PATCHED_FILE)) add(path);
  }
  return [...found];
}
