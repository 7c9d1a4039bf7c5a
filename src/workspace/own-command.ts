/**
 * `midwatch` for the processes of a run, whichever way midwatch was started: a program of two lines in the state folder of the user, where
 * nobody else can put another in its place, no project brings one along and no upgrade takes it away. Each installation has its own.
 */
import { createHash } from "node:crypto";
import { delimiter } from "node:path";
import { isOwnCommand } from "../process/environment.ts";
import { lastingNames } from "../process/lasting.ts";
import { installedWords } from "../process/self.ts";
import type { Context } from "./context.ts";

/** PATH with its folder in front, once; undefined where there can be none, and PATH stays as it is. */
export function withOwnCommand({ trust, env }: Context, path: string | undefined): string | undefined {
  const words = installedWords([]);
  if (words === undefined) return undefined;
  const [node, entry = ""] = words;
  const key = createHash("sha256").update(entry).digest("hex").slice(0, 16);
  const [program, name] = lastingNames(node, entry, env);
  const folder = trust.state.program(key, "midwatch", `#!/bin/sh\nexec ${quoted(program)} -- ${quoted(name)} "$@"\n`);
  // A path with the delimiter in it cannot stand in PATH.
  if (folder === undefined || folder.includes(delimiter)) return undefined;
  const parts = (path ?? "/usr/local/bin:/usr/bin:/bin").split(delimiter).filter((part) => !isOwnCommand(part));
  return [folder, ...parts].join(delimiter);
}

/** As a word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
