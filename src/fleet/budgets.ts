/** How much may be spent: what a person says of it, how far each budget is spent, and whom it holds back. */
import { type BudgetState, heldBy, raiseCommand, type Spender, stateOf } from "../budget/budget-plan.ts";
import { budgetStates, budgetsInForce, spenderFor, zoneOf } from "../budget/budgets.ts";
import { writeSet } from "../budget/store.ts";
import { isToBeWatched } from "../budget/watched.ts";
import { type Amount, amountText, type Budget, type OnPassed, type Period, type Reach } from "../core/config/budget.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import { iso } from "../core/time.ts";
import { readFacts } from "../facts/facts.ts";
import { list } from "../run/list.ts";
import { assertPerson } from "../workspace/caller.ts";
import { callCompanion } from "../workspace/companion.ts";
import { HoldsContext } from "./holds-context.ts";

/** A budget, how far it is spent, and whom it holds back. */
export interface BudgetRecord {
  period: Period;
  /** Only runs that have it count; null: all of them. */
  label: string | null;
  /** Whose spending: this workspace's, that of all workspaces of this user, or that of a fleet. */
  reach: Reach;
  unit: Amount["unit"];
  /** The budget itself. */
  of: number;
  /** What is spent of it. */
  spent: number;
  /** A part of that was worked out from prices. */
  estimated: boolean;
  /** Runs whose model has no known price: their cost is not in it. */
  unpriced: number;
  percent: number;
  /** What follows when it is passed. */
  on: OnPassed;
  /** The window; null for a run or a tree. */
  since: string | null;
  until: string | null;
  /** The zone whose midnight counts. */
  zone: string;
  /** Of a run or a tree: the one that has spent most of it, among those that live. */
  whose: string | null;
  /** Agents that wait for it. */
  held: AgentId[];
  /** `set` by a command, in the trusted `file`, or in an `untrusted` one that is stricter. */
  from: Budget["from"];
  /** The command that raises it. */
  raise: string;
}

/** Which budget is meant. */
export interface BudgetName {
  period: Period;
  label?: string | undefined;
  reach?: Reach | undefined;
}

const NOTHING = { usd: 0, estimated_usd: 0, tokens: 0, unpriced: 0 };

export class Budgets extends HoldsContext {
  /** Every budget that is in force here. */
  async show(): Promise<BudgetRecord[]> {
    const { context } = this;
    const inForce = budgetsInForce(context);
    if (inForce.length === 0) return [];
    const open = (await list(context, {})).filter((one) => !isOver(one));
    const spenders = new Map(open.map(({ agent, run }) => [agent, spenderFor(context, agent, run)]));
    const states = budgetStates(context, [...spenders.values()], Date.now(), inForce);
    const queued = open.filter((one) => one.queued).flatMap(({ agent }) => spenders.get(agent) ?? []);
    return inForce.map((budget) => recordOf(budget, states, queued));
  }

  /** Sets one, or says that there is none (`off`), whatever the configuration says. Its other unit stays as it is. */
  set(name: BudgetName, amount: Amount | "off", on?: OnPassed): Promise<BudgetRecord[]> {
    assertPerson(this.acting, "set budgets");
    return this.#write(name, amount, on, zoneOf(this.context));
  }

  /** Sets one that is there to more; of several for this period the one that is meant has to be said, unless only one of them is passed. */
  async raise(name: BudgetName, amount: Amount): Promise<BudgetRecord[]> {
    assertPerson(this.acting, "raise budgets");
    const { period, label, reach, zone } = meant(await this.show(), name, amount);
    // Its window does not move.
    return await this.#write({ period, label: label ?? undefined, reach }, amount, undefined, zone);
  }

  async #write(
    name: BudgetName,
    amount: Amount | "off",
    on: OnPassed | undefined,
    zone: string,
  ): Promise<BudgetRecord[]> {
    const { period, label = null, reach = "workspace" } = name;
    const now = budgetsInForce(this.context).filter((one) => isOf(one, { period, label, reach }));
    const kept = amount === "off" ? {} : Object.fromEntries(now.map(({ unit, most }) => [unit, most]));
    const asked = amount === "off" ? {} : { [amount.unit]: amount.most };
    const then = on ?? now[0]?.on;
    const entry = { label, period, ...kept, ...asked, ...(then === undefined ? {} : { on: then }), zone, at: iso() };
    await writeSet(this.context, reach, entry);
    await this.#watch();
    return await this.show();
  }

  /** What began before there was a budget has nobody who watches it for that. */
  async #watch(): Promise<void> {
    const { context } = this;
    const open = (await list(context, {})).filter((one) => !isOver(one));
    const intents = open.map(({ task, agent, run, queued }) => ({
      queued,
      ...readFacts(context.layout.run(task as TaskId, agent, run)),
    }));
    if (intents.some(({ intent, queued }) => intent && isToBeWatched(context, intent, queued)))
      await callCompanion(context);
  }
}

function recordOf(budget: Budget, states: readonly BudgetState[], queued: readonly Spender[]): BudgetRecord {
  const own = states.filter((state) => state.budget === budget).sort((a, b) => b.spent - a.spent);
  const state = own[0] ?? stateOf(budget, NOTHING, null, null);
  const { window, of, spent, estimated, unpriced, percent } = state;
  const { period, label, reach, unit, most, on, zone, from } = budget;
  return {
    ...{ period, label, reach, unit, of: most, spent, estimated, unpriced, percent, on },
    since: window && iso(window.fromMs),
    until: window && iso(window.toMs),
    zone,
    whose: of,
    held: queued.filter((one) => heldBy(states, one)?.budget === budget).map(({ agent }) => agent),
    from,
    raise: raiseCommand(state),
  };
}

function isOf(one: Pick<Budget, "period" | "label" | "reach">, name: typeof one): boolean {
  return one.period === name.period && one.label === name.label && one.reach === name.reach;
}

function meant(records: readonly BudgetRecord[], { period, label, reach }: BudgetName, amount: Amount): BudgetRecord {
  const fit = records.filter(
    (one) =>
      one.period === period &&
      one.unit === amount.unit &&
      (label === undefined || one.label === label) &&
      (reach === undefined || one.reach === reach),
  );
  const passed = fit.filter(({ percent }) => percent >= 100);
  const [found, ...more] = fit.length > 1 && passed.length === 1 ? passed : fit;
  if (found === undefined) {
    const others = records.filter((one) => one.period === period).map(({ raise }) => raise);
    throw new MidwatchError("NOT_FOUND_BUDGET", `There is no such budget to raise.`, {
      hint:
        others.length > 0 ? `There is: ${others.join("; ")}` : `midwatch budget set ${period} ${amountText(amount)}`,
    });
  }
  if (more.length > 0)
    throw new MidwatchError("USAGE", `There are ${fit.length} budgets of a ${period}.`, {
      hint: `Say which: ${fit.map((one) => one.raise).join("; ")}`,
    });
  if (amount.most > found.of) return found;
  const now = amountText({ unit: found.unit, most: found.of });
  throw new MidwatchError("USAGE", `${amountText(amount)} is not more than the ${now} that it is.`, {
    hint: "`midwatch budget set` lowers one.",
  });
}
