/** Programs that a project gets from us. */
import { chmodSync, mkdirSync } from "node:fs";
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
