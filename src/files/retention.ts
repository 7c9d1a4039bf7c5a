/**
 * Retention without a command: what ended before `prune_after`, or is too much for `prune_over`, goes to the trash in the rounds of
 * `midwatch up`, and where none leads a share of it with each command by which a person changes something. In a workspace of a release that
 * did not do so it is told first, and done later: nobody expects it there.
 */
import { existsSync } from "node:fs";
import { formatDuration } from "../core/duration.ts";
import { iso } from "../core/time.ts";
import { isHoused, leadership } from "../journal/leader.ts";
import type { Listed } from "../registry/registry.ts";
import { audit } from "../workspace/audit.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { emptiesNow, type PruneRecord, prune } from "./prune.ts";
import { announced, rest, rests, wasAnnounced } from "./retention-rest.ts";
import { withFolder } from "./seal-rest.ts";
import { workspaceBytes } from "./survey.ts";

/** The size of a workspace takes a walk through all of it. */
const SIZE_MS = 3_600_000;
const REST_MS = 3_600_000;
/** What a command spends on it at the most. */
const SHARE_AGENTS = 20;
const SHARE_MS = 100;

export class Retention {
  readonly #context: Context;
  #sizeAt = 0;
  #restUntil = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** What went. Nothing is walked through when nothing is due. */
  async round(): Promise<PruneRecord[]> {
    if (performance.now() < this.#restUntil || rests(this.#context)) return [];
    const due = aged(this.#context, 1).length > 0 || this.#isTooLarge();
    if (!due || announcedNow(this.#context) !== undefined) return [];
    const gone = (await prune(this.#context, {}, {})).filter(({ action }) => action === "trashed");
    // What is due and has to stay is not looked at again each minute.
    if (gone.length === 0) this.#restUntil = performance.now() + REST_MS;
    return gone;
  }

  #isTooLarge(): boolean {
    const { prune_over } = this.#context.config;
    if (prune_over === 0 || performance.now() < this.#sizeAt) return false;
    this.#sizeAt = performance.now() + SIZE_MS;
    return workspaceBytes(this.#context) > prune_over;
  }
}

/** A bounded part of it, by what the registry knows, and a sentence on what was done. Nothing to do costs a question to the registry. */
export async function pruneShare(context: Context): Promise<string | undefined> {
  const until = performance.now() + SHARE_MS;
  const { prune_over } = context.config;
  let ended = aged(context, SHARE_AGENTS);
  if (ended.length === 0 && prune_over > 0)
    ended = withReader(context, (registry) =>
      registry.fileBytes() > prune_over ? registry.endedFirst(undefined, SHARE_AGENTS) : [],
    );
  if ((ended.length === 0 && !emptiesNow(context)) || rests(context)) return undefined;
  if (isHoused(await leadership(context.engine))) return undefined;
  const told = announcedNow(context);
  if (told !== undefined) return told;
  const records = await prune(context, {}, { share: { ended, until } });
  if (!records.some(({ action }) => action === "trashed" || action === "deleted")) rest(context, REST_MS);
  const gone = records.filter(({ action }) => action === "trashed");
  const [first] = gone;
  return first && `${gone.length} that ended went to the trash (${first.why}). Next: midwatch prune --undo`;
}

/** By the registry alone: the facts decide later. */
function aged(context: Context, most: number): Listed[] {
  const { prune_after } = context.config;
  if (prune_after === 0) return [];
  return withReader(context, (registry) => registry.endedFirst(iso(Date.now() - prune_after), most));
}

/** It has a run that was cleaned up and not sealed. */
function isOfOlderRelease(context: Context): boolean {
  return withFolder(context).some(({ task, agent, run }) => {
    const paths = context.layout.run(task, agent, run);
    return existsSync(paths.cleanup) && existsSync(paths.done) && !existsSync(paths.sealed);
  });
}

/** What was told just now; undefined when that was before, or is not needed. */
function announcedNow(context: Context): string | undefined {
  if (wasAnnounced(context) || !isOfOlderRelease(context)) return undefined;
  announced(context);
  const { prune_after } = context.config;
  const age = prune_after === 0 ? "" : ` that ended more than ${formatDuration(prune_after)} ago`;
  const content = `Agents${age} go to the trash by themselves from now on. \`midwatch prune --dry-run\` lists them; prune_after and prune_over set to off keep them.`;
  audit(context, [{ type: "prune.announced", content }]);
  return content;
}
