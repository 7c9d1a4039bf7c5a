/**
 * What has to be done again and again while agents run. `midwatch up` does a round each second; without it, every command does
 * what it meets. Each part may run twice at once, in two processes, and does its work once.
 */
import { toMidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { KnownFacts } from "../facts/known-facts.ts";
import type { Observed } from "../facts/observe.ts";
import { archiveAged } from "../files/archive.ts";
import { emptyAged } from "../files/prune.ts";
import { Retention } from "../files/retention.ts";
import { sealSome, withFolder } from "../files/seal-rest.ts";
import { closeIdle } from "../messages/inbox.ts";
import { startWaiting } from "../run/queue.ts";
import { reconcile } from "../run/reconcile.ts";
import { stop } from "../run/stop.ts";
import { Streams } from "../stream/streams.ts";
import { Apart } from "../workspace/apart.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { BudgetRounds } from "./budget-rounds.ts";
import { Money } from "./money.ts";
import { hasMoneyLimit } from "./money-plan.ts";
import { lingers } from "./reported.ts";

const TIDY_MS = 60_000;

const QUIET_ROUNDS = 5;

/** What one round did; `archived` counts runs, `trashed` agents or whole tasks, `deleted` things in the trash. */
export interface Round {
  started: number;
  stopped: AgentId[];
  archived: number;
  trashed: number;
  deleted: number;
  /** Why something could not be tidied up; the rest goes on, and it is tried again. */
  problem: string | null;
}

export class Loop {
  readonly #context: Context;
  readonly #streams: Streams;
  readonly #known = new KnownFacts();
  readonly #apart: Apart;
  #tidyAt = 0;
  /** Runs of an older release that are to be sealed; looked for once. */
  #unsealed: RunName[] | undefined;
  readonly #retention: Retention;
  #looked = "";
  #still = 0;
  /** Limits of tokens and money: looked at in each round, or by itself once it is started. */
  readonly money: Money;
  /** Budgets, likewise. */
  readonly budgets: BudgetRounds;
  /** What the last round found, for others that need it in the same round. */
  observed: readonly Observed[] = [];

  constructor(context: Context, options: { streams?: Streams } = {}) {
    this.#context = context;
    this.#streams = options.streams ?? new Streams(context);
    const budgets = new BudgetRounds(context, this.#streams);
    this.budgets = budgets;
    this.money = new Money(context, {
      streams: this.#streams,
      wants: (intent) => hasMoneyLimit(intent) || budgets.wants(intent),
      heard: (one, state) => budgets.heard(one, state),
    });
    this.#apart = new Apart(context);
    this.#retention = new Retention(context);
  }

  async round(): Promise<Round> {
    const lookedMs = performance.now();
    const observed = await reconcile(this.#context, { known: this.#known, streams: this.#streams, large: true });
    this.observed = observed;
    this.#compare(observed);
    const stopped = await this.money.round(observed, lookedMs);
    for (const one of observed.filter(({ row }) => row.phase === "running")) {
      await this.#apart.each(one, async () => {
        const why = lingers(this.#context, one);
        if (why === undefined) return;
        await stop(this.#context, [one.agent], { ...why, streams: this.#streams });
        stopped.push(one.agent);
      });
    }
    stopped.push(...(await this.budgets.round(observed)));
    await closeIdle(this.#context, observed, this.#streams, this.#apart);
    this.#streams.keep(observed);
    return { started: await startWaiting(this.#context, observed), stopped, ...(await this.#tidy()) };
  }

  /** For some rounds nothing has moved, and nobody is in the queue: the next round has time. */
  get isQuiet(): boolean {
    return this.#still >= QUIET_ROUNDS;
  }

  #compare(observed: readonly Observed[]): void {
    const looks = observed.map(({ agent, run, row }) => `${agent}.${run} ${row.phase} ${row.bytes}`).join("\n");
    const urgent = observed.some(({ row, left }) => left || row.queued);
    this.#still = looks === this.#looked && !urgent ? this.#still + 1 : 0;
    this.#looked = looks;
  }

  /** What has time: old logs, old trash. An agent that makes its folders unusable must not end the loop. */
  async #tidy(): Promise<Pick<Round, "archived" | "trashed" | "deleted" | "problem">> {
    const done = { archived: 0, trashed: 0, deleted: 0, problem: null as string | null };
    if (performance.now() < this.#tidyAt) return done;
    this.#tidyAt = performance.now() + TIDY_MS;
    try {
      done.archived = await archiveAged(this.#context);
      done.deleted = (await emptyAged(this.#context)).filter(({ action }) => action === "deleted").length;
      done.trashed = (await this.#retention.round()).length;
      this.#unsealed ??= withFolder(this.#context);
      await sealSome(this.#context, this.#unsealed);
      if (done.archived + this.#unsealed.length > 0) this.#tidyAt = 0; // There may be more.
    } catch (error) {
      done.problem = toMidwatchError(error).message;
    }
    return done;
  }
}
