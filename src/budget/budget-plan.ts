/**
 * What budgets mean. Pure: from the budgets of a person and what was spent to who is held back, who is stopped and what is told. The one
 * place that decides it; whoever looks at the same sums decides the same.
 */
import { amountText, type Budget, type Period } from "../core/config/budget.ts";
import type { AgentId } from "../core/ids.ts";
import { opensAt, type Window } from "./window.ts";

/** As the ledger sums it up. */
export interface Sum {
  usd: number;
  /** The part of it that was worked out from prices. */
  estimated_usd: number;
  tokens: number;
  /** Runs with tokens whose cost nobody knows. */
  unpriced: number;
}

export interface BudgetState {
  budget: Budget;
  /** Of a day or a week. */
  window: Window | null;
  /** The run, or the agent at the top of the tree, that it counts. */
  of: string | null;
  spent: number;
  estimated: boolean;
  unpriced: number;
  /** Whole ones; 100 is reached when all of it is spent. */
  percent: number;
}

/** Who spends, as far as it matters here: an agent with those above it, itself first. */
export interface Spender {
  agent: AgentId;
  run: number;
  line: readonly Above[];
}

export interface Above {
  agent: AgentId;
  labels: readonly string[];
}

const TOLD_AT = [50, 80, 100] as const;

export function stateOf(budget: Budget, sum: Sum, window: Window | null, of: string | null): BudgetState {
  const spent = budget.unit === "usd" ? sum.usd : sum.tokens;
  const inMoney = budget.unit === "usd";
  return {
    budget,
    window,
    of,
    spent,
    estimated: inMoney && sum.estimated_usd > 0,
    unpriced: inMoney ? sum.unpriced : 0,
    // A sum of many small amounts is a little beside the truth.
    percent: Math.floor((spent / budget.most) * 100 + 1e-9),
  };
}

function isPassed({ percent }: Pick<BudgetState, "percent">): boolean {
  return percent >= 100;
}

/** The topmost agent of the line whose tree a budget counts; undefined when it counts none of them. */
export function headOf(line: readonly Above[], label: string | null): AgentId | undefined {
  return line.findLast(({ labels }) => label === null || labels.includes(label))?.agent;
}

/** Whether what it spends is part of the sum. */
export function countsTo({ budget, of }: Pick<BudgetState, "budget" | "of">, { agent, run, line }: Spender): boolean {
  if (budget.period === "tree") return headOf(line, budget.label) === of;
  const own = line[0]?.labels ?? [];
  const isLabelled = budget.label === null || own.includes(budget.label);
  return isLabelled && (budget.period !== "run" || of === `${agent}.${run}`);
}

/** From the narrowest to the widest: the first one says best why. */
const ORDER: readonly Period[] = ["run", "tree", "day", "week"];

/** What keeps a run from being started now: of several the one that opens last. What is stopped when it is passed is not begun either. */
export function heldBy(states: readonly BudgetState[], spender: Spender): BudgetState | undefined {
  const holding = states.filter(
    (state) =>
      state.budget.on !== "tell" && state.budget.period !== "run" && isPassed(state) && countsTo(state, spender),
  );
  const opens = ({ window }: BudgetState): number => window?.toMs ?? Number.POSITIVE_INFINITY;
  return holding.sort((a, b) => opens(b) - opens(a))[0];
}

/** Those that have to end, each with the narrowest budget that says so. */
export function stopsOf<T extends Spender>(
  states: readonly BudgetState[],
  live: readonly T[],
): { one: T; state: BudgetState }[] {
  const passed = inOrder(states.filter((state) => state.budget.on === "stop" && isPassed(state)));
  return live.flatMap((one) => {
    const state = passed.find((each) => countsTo(each, one));
    return state === undefined ? [] : [{ one, state }];
  });
}

/** A budget that is only told of and has been passed by, among others, this run. */
export function toldOf(states: readonly BudgetState[], spender: Spender): BudgetState | undefined {
  return inOrder(states).find((state) => state.budget.on === "tell" && isPassed(state) && countsTo(state, spender));
}

/** Parts of the budget that are reached, each to be told once a window. A budget that was raised is told of anew. */
export function reached(state: BudgetState): { percent: number; key: string }[] {
  const { reach, label, period, unit, most } = state.budget;
  const which = [reach, label ?? "", period, unit, most, state.of ?? state.window?.fromMs ?? ""].join(" ");
  return TOLD_AT.filter((percent) => state.percent >= percent).map((percent) => ({
    percent,
    key: `${which} ${percent}`,
  }));
}

function inOrder(states: readonly BudgetState[]): BudgetState[] {
  return [...states].sort((a, b) => ORDER.indexOf(a.budget.period) - ORDER.indexOf(b.budget.period));
}

/** `the day's budget of 1 USD is spent (1.02)` */
export function spentText(state: BudgetState): string {
  return `${budgetName(state)} is spent (${figure(state)})`;
}

/** `the day's budget of 1 USD for all workspaces` */
export function budgetName(state: BudgetState): string {
  const { budget } = state;
  const whom = whose(state);
  return `the ${budget.period}'s budget of ${amountText(budget)}${whom === "" ? "" : ` for ${whom}`}`;
}

/** Empty where it is all that this workspace spends. */
function whose({ budget: { reach, label, period }, of }: Pick<BudgetState, "budget" | "of">): string {
  const scope = { workspace: "", user: "all workspaces", fleet: "the fleet" }[reach];
  const tree = period === "tree" && of !== null ? `${of} and those below it` : "";
  return [tree, label === null ? "" : `the label ${label}`, scope].filter(Boolean).join(", ");
}

/** `waits: the day's budget of 1 USD is spent (1.02); opens 00:00; or: midwatch budget raise day 5` */
export function whyHeld(state: BudgetState, nowMs: number): string {
  const { window, budget } = state;
  const opens = window === null ? "" : `; opens ${opensAt(window.toMs, nowMs, budget.zone)}`;
  return `waits: ${spentText(state)}${opens}; or: ${raiseCommand(state)}`;
}

export function whyStopped(state: BudgetState): string {
  const over = state.spent - state.budget.most;
  return over > 0 ? `${spentText(state)}, ${amountText({ ...state.budget, most: over })} over` : spentText(state);
}

/** `~1.02`, the unit is said elsewhere. */
export function figure({ budget, spent, estimated }: BudgetState): string {
  return `${estimated ? "~" : ""}${amountText({ ...budget, most: spent }).replace(/ \w+$/, "")}`;
}

/** What lets it go on, as one types it. */
export function raiseCommand(state: BudgetState): string {
  const { budget, spent } = state;
  const { reach, label, period, unit } = budget;
  const most = roundAbove(2 * Math.max(spent, budget.most));
  const amount = unit === "usd" ? String(most) : amountText({ unit, most });
  const flags = { workspace: "", user: " --everywhere", fleet: " --fleet" }[reach];
  return `midwatch budget raise ${period} ${amount}${label === null ? "" : ` --label ${word(label)}`}${flags}`;
}

function word(label: string): string {
  return /^[\w.-]+$/.test(label) ? label : `'${label.replaceAll("'", "'\\''")}'`;
}

/** 1, 2 or 5, and noughts. */
function roundAbove(n: number): number {
  const scale = 10 ** Math.floor(Math.log10(n));
  const factor = [1, 2, 5, 10].find((one) => one * scale >= n * (1 - 1e-9)) ?? 10;
  return Number((factor * scale).toPrecision(1));
}
