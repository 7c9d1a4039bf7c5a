/**
 * What agents are doing, with the evidence: log by cursor → driver (line → Activity) → `src/judge` (pure) → summary → registry, journal and
 * `summaries/`. A model may add words (`opinion/`); no verdict depends on it.
 */

import { resolve } from "node:path";
import type { CostBucket, CostRecord } from "../core/cost-record.ts";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, parseAgentId } from "../core/ids.ts";
import type { AgentSummary } from "../core/summary.ts";
import { resolveId } from "../facts/locate.ts";
import type { Prices } from "../spend/prices.ts";
import { type Needs, needs } from "../watch/attention.ts";
import { type CostQuery, costOf, costSeries } from "../watch/cost-of.ts";
import type { Batch } from "../watch/file-reader.ts";
import { HeldFiles } from "../watch/held-files.ts";
import { latestSummaries, type Positions, positions, readFile } from "../watch/summaries.ts";
import { Watch } from "../watch/watch.ts";
import { watchRounds } from "../watch/watch-rounds.ts";
import { assertPerson } from "../workspace/caller.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { spenderOf } from "../workspace/record-spend.ts";
import { HoldsContext } from "./holds-context.ts";

export class Verdicts extends HoldsContext {
  readonly #files = new HeldFiles();

  /** The watch, to be asked for rounds: a look at every live agent, and at those that have just ended. */
  rounds(): Watch {
    return new Watch(this.acting);
  }

  /** Again and again: each time the summaries that are new. `tell` hears why no model is asked, where one is configured. */
  async *follow(signal: AbortSignal, tell: (text: string) => void = () => undefined): AsyncGenerator<AgentSummary> {
    using rounds = watchRounds(this.acting, tell);
    while (!signal.aborted) {
      yield* await rounds.next();
      await rounds.wait(signal);
    }
  }

  /** What the watch says of one agent now. */
  async of(id?: string): Promise<AgentSummary> {
    const agent = resolveId(this.context, id);
    const [found] = await latestSummaries(this.context, new Set([agent]));
    if (found !== undefined) return found;
    throw new MidwatchError("CORRUPT_ARCHIVE", `The log of ${agent} cannot be read.`, {
      hint: `\`midwatch verify ${agent}\` says why.`,
    });
  }

  /** Of every agent that lives or ended within a day. */
  all(): Promise<AgentSummary[]> {
    return latestSummaries(this.context);
  }

  /** What the watch has stored of a run, without a look at it. */
  stored(agent: AgentId, run: number): AgentSummary | undefined {
    const row = withReader(this.context, ({ watched }) => watched.summary(agent, run));
    return row?.data as unknown as AgentSummary | undefined;
  }

  /** The list of prices in force here. */
  get prices(): Prices {
    return this.context.prices;
  }

  /** Places in logs, this workspace's and others. */
  get positions(): Positions {
    return positions(this.context);
  }

  /** New whole lines of any file; the place is kept under a name when `commit` is called. */
  readFile(reader: string, path: string): Batch & { commit(): void } {
    return readFile(this.acting, this.#files, parseAgentId(reader), resolve(path));
  }

  /** Tokens and money spent since then, also by runs that were killed or lost; from the ledger, no log is read. */
  cost(options: CostQuery = {}): CostRecord[] {
    return costOf(this.#mayLook(options), options);
  }

  /** How many agents live of whom nobody has told yet what they used: they are told of when somebody watches, or at their end. */
  untold(): number {
    const workspace = spenderOf(this.context)?.id;
    if (workspace === undefined) return 0;
    let known: ReadonlyMap<string, boolean>;
    try {
      known = this.context.ledger.known(workspace);
    } catch {
      return 0; // A ledger that cannot be read is told of elsewhere.
    }
    const living = withReader(this.context, (registry) => registry.list());
    return living.filter(({ agent, run }) => agent.driver !== "command" && !known.has(`${agent.id}.${run.run}`)).length;
  }

  /** The same over time, oldest first; of the last day where nothing else is said. */
  costSeries(options: CostQuery = {}): CostBucket[] {
    return costSeries(this.#mayLook(options), options);
  }

  /** What other projects cost is not an agent's business. */
  #mayLook({ everywhere = false }: CostQuery): Context {
    if (everywhere) assertPerson(this.context, "see what agents of other projects cost");
    return this.priced;
  }

  /** Who needs a person now; looks at the logs of all that live. `onLeft` as in a list. */
  needs(onLeft?: (count: number) => void): Promise<Needs> {
    return needs(this.context, onLeft);
  }

  /** Lets go of the files that are held open. */
  close(): void {
    this.#files[Symbol.dispose]();
  }
}
