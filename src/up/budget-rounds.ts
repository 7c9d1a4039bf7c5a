/**
 * Budgets while agents run: what they have used goes into the ledger, what is reached is told, and where a budget says so, what counts to it is
 * stopped. Each process that watches a workspace does this for the runs of it, a few times a second; the sums are those of all.
 */
import { type BudgetState, type Spender, stopsOf, whyStopped } from "../budget/budget-plan.ts";
import { budgetStates, budgetsInForce, spenderFor } from "../budget/budgets.ts";
import { Teller } from "../budget/tell.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { IntentFact } from "../core/intent.ts";
import type { LimitFact } from "../core/needs-watch.ts";
import { iso } from "../core/time.ts";
import { createInside } from "../disk/write-inside.ts";
import { readFacts } from "../facts/facts.ts";
import { hasEnded, type Observed } from "../facts/observe.ts";
import { placeId } from "../journal/event.ts";
import { stop } from "../run/stop.ts";
import { spent } from "../spend/spent.ts";
import type { StreamState } from "../stream/stream-state.ts";
import { keyOf, type StreamOf, type Streams } from "../stream/streams.ts";
import { Apart } from "../workspace/apart.ts";
import { audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";
import { recordSpend } from "../workspace/record-spend.ts";

const TICK_MS = 200;

type Live = RunName & Spender;

export class BudgetRounds {
  readonly #context: Context;
  readonly #streams: Streams;
  readonly #apart: Apart;
  readonly #teller: Teller;
  /** Whose child a run is and which labels it has, as it was when it was first seen: it lives beside files that say so. */
  readonly #live = new Map<string, Live>();
  readonly #stopping = new Map<string, Promise<void>>();
  #stopped: AgentId[] = [];
  #timer: NodeJS.Timeout | undefined;
  #failed: { error: unknown } | undefined;
  #trouble: string | undefined;

  constructor(context: Context, streams: Streams) {
    this.#context = context;
    this.#streams = streams;
    this.#apart = new Apart(context);
    this.#teller = new Teller(context);
  }

  /** Whether what a run spends has to be read. */
  wants({ driver }: IntentFact): boolean {
    return driver !== "command" && this.#inForce().length > 0;
  }

  /** What it has used by now goes into the ledger, where the others of this user find it too. */
  heard(one: StreamOf, { result }: StreamState): void {
    const { intent } = one.facts;
    if (intent === undefined) return;
    this.#meet(one, intent);
    const { parts } = spent(result, intent.model, this.#context.prices);
    const { task, agent, run } = one;
    const told = { labels: intent.labels, parts, told_usd: result.cost_usd, final: false };
    recordSpend(this.#context, [{ task, agent, run, ...told }]);
  }

  /** Looks by itself from now on, while `may` says so. */
  start(may: () => boolean): void {
    this.#timer ??= setInterval(() => {
      if (may()) this.#tick();
    }, TICK_MS);
  }

  /** What was begun is done to its end. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await Promise.all(this.#stopping.values());
  }

  /** Gives those that were stopped since the last one. Without a timer the budgets are looked at now. */
  async round(observed: readonly Observed[]): Promise<AgentId[]> {
    for (const one of observed) {
      const { intent } = one.facts;
      if (one.row.phase === "running" && intent !== undefined) this.#meet(one, intent);
    }
    const keys = new Set(observed.map(keyOf));
    for (const [key, one] of this.#live) if (!keys.has(key) && this.#isOver(one)) this.#live.delete(key);
    if (this.#timer === undefined) {
      this.#tick();
      await Promise.all(this.#stopping.values());
    }
    const failed = this.#failed;
    this.#failed = undefined;
    if (failed !== undefined) throw failed.error;
    return this.#stopped.splice(0);
  }

  #meet({ task, agent, run }: RunName, { labels, driver }: IntentFact): void {
    const key = keyOf({ agent, run });
    // A plain command spends nothing, as far as anybody can tell: it is not stopped for what others spend.
    if (driver !== "command" && !this.#live.has(key))
      this.#live.set(key, { task, ...spenderFor(this.#context, agent, run, labels) });
  }

  #isOver({ task, agent, run }: RunName): boolean {
    return hasEnded(readFacts(this.#context.layout.run(task, agent, run)));
  }

  #tick(): void {
    try {
      const inForce = budgetsInForce(this.#context);
      if (inForce.length === 0) return;
      const live = [...this.#live.values()];
      const nowMs = Date.now();
      const states = budgetStates(this.#context, live, nowMs, inForce);
      this.#teller.tell(states, nowMs);
      for (const { one, state } of stopsOf(states, live)) this.#stop(one, state);
      this.#trouble = undefined;
    } catch (error) {
      if (error instanceof MidwatchError) this.#tellTrouble(error);
      else this.#failed ??= { error };
    }
  }

  #stop(one: Live, state: BudgetState): void {
    const key = keyOf(one);
    if (this.#stopping.has(key)) return;
    const stopping = this.#apart
      .each(one, () => this.#end(one, state))
      .catch((error: unknown) => {
        this.#failed ??= { error };
      })
      .then(() => void this.#stopping.delete(key));
    this.#stopping.set(key, stopping);
  }

  async #end(one: Live, state: BudgetState): Promise<void> {
    const { task, agent, run } = one;
    const { layout } = this.#context;
    if (this.#isOver(one)) {
      this.#live.delete(keyOf(one));
      return;
    }
    const reason = whyStopped(state);
    const { spent: by, budget } = state;
    const fact: LimitFact = { v: 1, limit: "budget", reason, at: iso(), value: budget.most, spent: by, action: "stop" };
    createInside(layout.root, layout.run(task, agent, run).limit, `${JSON.stringify(fact)}\n`);
    const [report] = await stop(this.#context, [agent], { limit: "budget", reason, streams: this.#streams });
    if (report?.verified !== true) return;
    this.#live.delete(keyOf(one));
    this.#stopped.push(agent);
  }

  #inForce(): ReturnType<typeof budgetsInForce> {
    try {
      return budgetsInForce(this.#context);
    } catch (error) {
      if (error instanceof MidwatchError) return []; // The next tick tells it.
      throw error;
    }
  }

  /** Once a day for each: nobody is stopped for a budget that cannot be read, and somebody has to know. */
  #tellTrouble({ code, message }: MidwatchError): void {
    if (this.#trouble === code) return;
    this.#trouble = code;
    const id = placeId("budget", code, iso().slice(0, 10));
    audit(this.#context, [{ type: "error", id, content: `Budgets are not watched: ${message}`, data: { code } }]);
  }
}
