/**
 * companions/<SHA-256 of the workspace's path>.json in the state folder: which run is the companion of a workspace (docs/companion.md).
 * Only what stands there is one: no id, no role and no intent makes an agent a companion. Beside it lie the files on which locks are held.
 */
import type { AgentId, TaskId } from "../core/ids.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";
import { sha256Of } from "./config-trust.ts";

export interface CompanionRecord {
  v: 1;
  /** The workspace. */
  path: string;
  agent: AgentId;
  task: TaskId;
  /** Of its newest run. */
  nonce: string;
  at: string;
  /** What MIDWATCH_TRUST said where a person started a run that needs it. */
  trusts?: readonly string[];
}

export function readCompanion(state: StateFolder, root: string): CompanionRecord | undefined {
  return state.read<CompanionRecord>("companions", sha256Of(root));
}

/** Before it is started: whoever finds its keeper finds the record. */
export function recordCompanion(state: StateFolder, record: CompanionRecord): void {
  state.write("companions", sha256Of(record.path), record);
}

/** `watch` is held by whoever watches, `starting` by whoever starts somebody who will. */
export function companionLocks(state: StateFolder, root: string): { watch: string; starting: string } {
  const name = sha256Of(root);
  return {
    watch: state.lockFile("companions", name, "lock"),
    starting: state.lockFile("companions", name, "starting"),
  };
}
