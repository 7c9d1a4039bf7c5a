/**
 * Budgets while agents run: what they have used goes into the ledger, what is reached is told, and where a budget says so, what counts to it
 * is stopped. Each process that watches a workspace does this for the runs of it; the sums are those of all.
 */
import { type Spender, stopsOf, whyStopped } from "../budget/budget-plan.ts";
import { budgetStates, budgetsInForce, spenderFor } from "../budget/budgets.ts";
import { Teller } from "../budget/tell.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import type { Observed } from "../facts/observe.ts";
import { placeId } from "../journal/event.ts";
import { stop } from "../run/stop.ts";
import { spent } from "../spend/spent.ts";
import { keyOf, type Streams } from "../stream/streams.ts";
import type { Apart } from "../workspace/apart.ts";
import { audit } from "../workspace/audit.ts";
import type { Context } from "../workspace/context.ts";
import { type RunSpend, recordSpend } from "../workspace/record-spend.ts";

export class BudgetRounds {
  readonly #context: Context;
  readonly #streams: Streams;
  readonly #apart: Apart;
  readonly #teller: Teller;
  /** Whose child a run is and which labels it has, as it was when it was first seen: it lives beside files that say so. */
  readonly #spenders = new Map<string, Spender>();
  readonly #stopping = new Set<string>();
  #trouble: string | undefined;

  constructor(context: Context, streams: Streams, apart: Apart) {
    this.#context = context;
    this.#streams = streams;
    this.#apart = apart;
    this.#teller = new Teller(context);
  }

  /** Gives those that were stopped. */
  async round(observed: readonly Observed[]): Promise<AgentId[]> {
    try {
      const inForce = budgetsInForce(this.#context);
      if (inForce.length === 0) return [];
      const live = observed.filter(({ row }) => row.phase === "running");
      await this.#hear(live);
      const spenders = live.map((one) => this.#spender(one));
      this.#forget(new Set(live.map(keyOf)));
      const nowMs = Date.now();
      const states = budgetStates(this.#context, spenders, nowMs, inForce);
      this.#teller.tell(states, nowMs);
      const stops = stopsOf(states, spenders);
      const stopped = await Promise.all(stops.map(({ one, state }) => this.#stop(one, whyStopped(state))));
      this.#trouble = undefined;
      return stopped.flatMap((agent) => agent ?? []);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      this.#tellTrouble(error);
      return [];
    }
  }

  async #hear(live: readonly Observed[]): Promise<void> {
    const heard = await Promise.all(live.map((one) => this.#apart.each(one, () => this.#spend(one))));
    recordSpend(
      this.#context,
      heard.flatMap((one) => one ?? []),
    );
  }

  async #spend(one: Observed): Promise<RunSpend | undefined> {
    const { intent } = one.facts;
    if (intent === undefined || intent.driver === "command") return undefined;
    const { result } = await this.#streams.read(one);
    const { parts } = spent(result, intent.model, this.#context.prices);
    const { task, agent, run } = one;
    return { task, agent, run, labels: intent.labels, parts, told_usd: result.cost_usd, final: false };
  }

  #spender({ agent, run, facts }: Observed): Spender {
    const key = keyOf({ agent, run });
    const known = this.#spenders.get(key) ?? spenderFor(this.#context, agent, run, facts.intent?.labels);
    this.#spenders.set(key, known);
    return known;
  }

  #forget(live: ReadonlySet<string>): void {
    for (const key of this.#spenders.keys()) if (!live.has(key)) this.#spenders.delete(key);
  }

  async #stop({ agent, run }: Spender, reason: string): Promise<AgentId | undefined> {
    const key = keyOf({ agent, run });
    if (this.#stopping.has(key)) return undefined;
    this.#stopping.add(key);
    try {
      await stop(this.#context, [agent], { limit: "budget", reason, streams: this.#streams });
      return agent;
    } finally {
      this.#stopping.delete(key);
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
