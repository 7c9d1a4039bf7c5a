/**
 * What is carried out later: a queued run, a message to an agent. Its file lies in the project, where others may write; it counts only while
 * its SHA-256 is recorded in the state folder by whoever asked for it.
 */
import { iso } from "../core/time.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";
import { sha256Of } from "./config-trust.ts";

/** Before the file at `path` is written, or a line of it: who finds the one finds the other. `what` tells a person who looks into the folder. */
export function recordLater(state: StateFolder, path: string, text: string, what: string): void {
  state.write("later", sha256Of(text), { v: 1, what, path, at: iso() });
}

export function isRecorded(state: StateFolder, text: string): boolean {
  return state.read("later", sha256Of(text)) !== undefined;
}

export function forgetLater(state: StateFolder, text: string): void {
  state.remove("later", sha256Of(text));
}
