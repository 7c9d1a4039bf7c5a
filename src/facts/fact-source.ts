/** Where the facts of a run come from: its folder while it lives, one file once it is sealed. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { throwIfExhausted } from "../core/errors.ts";
import type { RunPaths } from "../disk/layout.ts";
import { type JsonRead, readJson } from "../disk/replace.ts";
import { factIn, readSealed } from "../disk/sealed.ts";

interface FactSource {
  /** By its name in the run's folder. */
  read<T>(name: string): JsonRead<T>;
  /** The sealed file, when it is there, cannot be used, and nothing else tells of the run. */
  damaged: string | undefined;
  /** A fact went between the look at the folder and the reading of it. */
  changed(): boolean;
}

const MISSING: JsonRead<never> = { value: undefined, reason: undefined };

export function factSource({ dir, sealed }: RunPaths): FactSource {
  // Most facts of a living run are not there, and a failed open costs more than reading the folder.
  const names = namesOf(dir);
  const lives = names.has("claim") && !names.has("done.json");
  const { value: facts, reason } = lives ? MISSING : readSealed(sealed);
  let changed = false;
  return {
    read: <T>(name: string): JsonRead<T> => {
      const kept = facts && factIn<T>(facts, name);
      if (kept !== undefined) return { value: kept, reason: undefined };
      const loose: JsonRead<T> = names.has(name) ? readJson<T>(join(dir, name)) : MISSING;
      if (names.has(name) && loose.value === undefined && loose.reason === undefined) changed = true;
      return loose;
    },
    damaged: reason !== undefined && !names.has("claim") ? `${basename(sealed)} cannot be read` : undefined,
    changed: () => changed,
  };
}

function namesOf(dir: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(dir));
  } catch (error) {
    throwIfExhausted(error);
    return new Set();
  }
}
