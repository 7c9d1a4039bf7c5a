/** Where the facts of a run come from: its folder while it lives, one file once it is sealed. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { throwIfExhausted } from "../core/errors.ts";
import type { RunPaths } from "../disk/layout.ts";
import { type JsonRead, readJson } from "../disk/replace.ts";
import { factIn, readSealed } from "../disk/sealed.ts";

export interface FactSource {
  /** By its name in the run's folder. */
  read<T>(name: string, bytes: number): JsonRead<T>;
  /** There is a file, and it counts. */
  isSealed: boolean;
  /** Why the file cannot be used. */
  damaged: string | undefined;
  /** A fact went between the look at the folder and the reading of it. */
  changed(): boolean;
}

const MISSING: JsonRead<never> = { value: undefined, reason: undefined };

/** The claim is the first to go from a folder that was sealed. While it is there, the file is at most a copy, or an agent's own work. */
export function factSource({ dir, sealed }: RunPaths): FactSource {
  // Most facts of a living run are not there, and a failed open costs more than reading the folder.
  const names = namesOf(dir);
  const whole = names.has("claim");
  const { value: facts, reason } = whole && !names.has("done.json") ? MISSING : readSealed(sealed);
  let changed = false;
  const loose = <T>(name: string, bytes: number): JsonRead<T> => {
    if (!names.has(name)) return MISSING;
    const read = readJson<T>(join(dir, name), { bytes });
    if (read.value === undefined && read.reason === undefined) changed = true;
    return read;
  };
  return {
    read: <T>(name: string, bytes: number): JsonRead<T> => {
      // Of a cleanup there is one after the sealing too, which the folder does not know.
      const first = whole && name !== "cleanup.json" && names.has(name);
      return (facts && !first ? factIn<T>(facts, name) : undefined) ?? loose(name, bytes);
    },
    isSealed: !whole && (facts !== undefined || reason !== undefined),
    damaged: reason !== undefined && !whole ? `${basename(sealed)} cannot be read` : undefined,
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
