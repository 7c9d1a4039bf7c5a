/** Programs that a project gets from us. */
import { chmodSync, lstatSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "./fault.ts";
import { readOwn, replaceKeeping } from "./replace.ts";

/** Gives their paths. One that was there and differs stays as .bak. */
export function placeScripts(folder: string, texts: Readonly<Record<string, string>>): string[] {
  // A folder of the project, not of ours: others may look into it.
  attempt(["EEXIST"], folder, () => mkdirSync(folder, 0o755));
  return Object.entries(texts).map(([name, text]) => {
    const path = join(folder, name);
    if (readOwn(path) !== text) replaceKeeping(path, text, `${path}.bak`);
    chmodSync(path, 0o755);
    return path;
  });
}

/** Links of these names to the same names in `to`, a folder below. What is there already stays; gives the names of those that are new. */
export function placeLinks(folder: string, to: string, names: readonly string[]): string[] {
  return names.filter((name) => {
    if (lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined) return false;
    attempt(["EEXIST"], folder, () => symlinkSync(join(to, name), join(folder, name)));
    return true;
  });
}
