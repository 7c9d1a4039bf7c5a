/**
 * The files of ended runs: `cleanup` (one piece of code, whoever comes first) → `pack` (archives) → `prune` to `trash`. Each file is accounted
 * for, none is overwritten, no link is followed, and what is pruned can be brought back for a day.
 */
import type { Progress } from "../core/progress.ts";
import { resolveId } from "../facts/locate.ts";
import { type Archived, archive, restore } from "../files/archive.ts";
import { type PinRecord, pin } from "../files/pin.ts";
import { type PruneOptions, type PruneRecord, prune, undoPrune } from "../files/prune.ts";
import { pruneShare } from "../files/retention.ts";
import { reconcile } from "../run/reconcile.ts";
import { assertPerson } from "../workspace/caller.ts";
import { HoldsContext } from "./holds-context.ts";

export class Files extends HoldsContext {
  /** Compresses the log of a run that has ended; it is read, paged and searched as before. */
  async archive(id: string, options: { run?: number | undefined; progress?: Progress } = {}): Promise<Archived> {
    assertPerson(this.acting, "archive logs");
    const agent = resolveId(this.context, id);
    await reconcile(this.context, { of: [agent] });
    return archive(this.context, agent, options.run, options.progress);
  }

  /** Brings the plain log back, for an hour at least. */
  async restore(id: string, options: { run?: number | undefined; progress?: Progress } = {}): Promise<Archived> {
    assertPerson(this.acting, "restore logs");
    const agent = resolveId(this.context, id);
    await reconcile(this.context, { of: [agent] });
    return await restore(this.context, agent, options.run, options.progress);
  }

  /** Takes ended agents away, to the trash first. */
  prune(options: PruneOptions = {}): Promise<PruneRecord[]> {
    assertPerson(this.acting, "prune");
    return prune(this.context, options);
  }

  /** Keeps an agent from every prune, or lets it go again. */
  pin(id: string, options: { off?: boolean | undefined } = {}): PinRecord {
    assertPerson(this.acting, "pin agents");
    return pin(this.context, resolveId(this.context, id), options.off !== true);
  }

  /** A bounded share of what `midwatch up` prunes, where none leads; says in a sentence what went. */
  async pruneShare(): Promise<string | undefined> {
    assertPerson(this.acting, "prune");
    return await pruneShare(this.context);
  }

  /** Brings back what was pruned: all of it, or what the id names. */
  undoPrune(id?: string): Promise<PruneRecord[]> {
    assertPerson(this.acting, "bring back what was pruned");
    return undoPrune(this.context, id);
  }
}
