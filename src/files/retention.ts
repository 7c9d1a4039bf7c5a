/**
 * Retention without a command: what ended before `prune_after`, or is too much for `prune_over`, goes to the trash in the rounds of
 * `midwatch up`. In a workspace of a release that did not do so it is told first, and done a round later: nobody expects it there.
 */
import { existsSync } from "node:fs";
import { formatDuration } from "../core/duration.ts";
import { iso } from "../core/time.ts";
import { replaceInside } from "../disk/write-inside.ts";
import { audit } from "../workspace/audit.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { type PruneRecord, prune } from "./prune.ts";
import { withFolder } from "./seal-rest.ts";
import { workspaceBytes } from "./survey.ts";

/** The size of a workspace takes a walk through all of it. */
const SIZE_MS = 3_600_000;
const REST_MS = 3_600_000;

export class Retention {
  readonly #context: Context;
  #sizeAt = 0;
  #restUntil = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  /** What went. Nothing is walked through when nothing is due. */
  async round(): Promise<PruneRecord[]> {
    if (performance.now() < this.#restUntil) return [];
    const due = this.#aged() || this.#isTooLarge();
    if (!due || this.#isAnnounced()) return [];
    const gone = (await prune(this.#context, { unasked: true })).filter(({ action }) => action === "trashed");
    // What is due and has to stay is not looked at again each minute.
    if (gone.length === 0) this.#restUntil = performance.now() + REST_MS;
    return gone;
  }

  /** By the registry alone: the facts decide later. */
  #aged(): boolean {
    const { prune_after } = this.#context.config;
    if (prune_after === 0) return false;
    const before = iso(Date.now() - prune_after);
    const rows = withReader(this.#context, (registry) => registry.list({ all: true }));
    return rows.some(({ run }) => run.outcome !== null && (run.ended_at ?? run.created_at) <= before);
  }

  #isTooLarge(): boolean {
    const { prune_over } = this.#context.config;
    if (prune_over === 0 || performance.now() < this.#sizeAt) return false;
    this.#sizeAt = performance.now() + SIZE_MS;
    return workspaceBytes(this.#context) > prune_over;
  }

  /** It has a run that was cleaned up and not sealed. */
  #isOfOlderRelease(): boolean {
    return withFolder(this.#context).some(({ task, agent, run }) => {
      const paths = this.#context.layout.run(task, agent, run);
      return existsSync(paths.cleanup) && existsSync(paths.done) && !existsSync(paths.sealed);
    });
  }

  /** True when it was told just now. */
  #isAnnounced(): boolean {
    const { layout, config } = this.#context;
    if (existsSync(layout.retention) || !this.#isOfOlderRelease()) return false;
    replaceInside(layout.root, layout.retention, `${JSON.stringify({ v: 1, announced_at: iso() })}\n`);
    const age = config.prune_after === 0 ? "" : ` that ended more than ${formatDuration(config.prune_after)} ago`;
    const content = `Agents${age} go to the trash by themselves from now on. \`midwatch prune --dry-run\` lists them; prune_after and prune_over set to 0 turn it off.`;
    audit(this.#context, [{ type: "prune.announced", content }]);
    return true;
  }
}
