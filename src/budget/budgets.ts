/**
 * The budgets of a workspace over what the ledger knows: which are in force, how much of each is spent, who is held back by one. It only looks;
 * what follows is done by whoever starts runs (src/run) and by whoever watches them (src/up).
 */

import type { Wake } from "../core/attention-record.ts";
import { type Asked, type Budget, budgetsFrom } from "../core/config/budget.ts";
import type { AgentId } from "../core/ids.ts";
import { iso } from "../core/time.ts";
import { sizeOf } from "../drivers/stream.ts";
import type { Filter } from "../spend/ledger-sums.ts";
import { trustedBudget } from "../trust/config-trust.ts";
import { type Context, withReader } from "../workspace/context.ts";
import {
  type Above,
  type BudgetState,
  headOf,
  heldBy,
  type Spender,
  type Sum,
  stateOf,
  whyHeld,
} from "./budget-plan.ts";
import { othersSpend, plus } from "./fleet-spend.ts";
import { widerBudgets, workspaceBudgets } from "./in-force.ts";
import { readSet } from "./store.ts";
import { systemZone, windowOf } from "./window.ts";

/** Throws NO_STATE_FOLDER when what a person said cannot be read. */
export function budgetsInForce(context: Context): Budget[] {
  const { trust } = context;
  const { path, value, trusted } = trust.config;
  const now = (): Asked[] => budgetsFrom((value as { budget?: unknown } | undefined)?.budget);
  const kept = trustedBudget(path, trust.state);
  const pinned = kept && { asked: budgetsFrom(kept.budget), at: kept.at };
  const file = {
    trusted: pinned ?? (trusted ? { asked: now(), at: "" } : undefined),
    untrusted: trusted ? [] : now(),
  };
  return [
    ...workspaceBudgets(readSet(context, "workspace"), file, zoneOf(context)),
    ...widerBudgets(readSet(context, "user"), "user"),
    ...widerBudgets(readSet(context, "fleet"), "fleet"),
  ];
}

/** Whose midnight counts in this workspace. */
export function zoneOf({ config }: Context): string {
  return config.time_zone || systemZone();
}

/** How much of each is spent; those of a run or a tree for each of these that they count. */
export function budgetStates(
  context: Context,
  spenders: readonly Spender[],
  nowMs: number = Date.now(),
  budgets: readonly Budget[] = budgetsInForce(context),
): BudgetState[] {
  return budgets.flatMap((budget) => statesOf(context, budget, spenders, nowMs));
}

function statesOf(context: Context, budget: Budget, spenders: readonly Spender[], nowMs: number): BudgetState[] {
  const { period, label, reach, zone } = budget;
  const here = context.trust.ownership.id ?? "";
  if (period === "day" || period === "week") {
    const window = windowOf(period, nowMs, zone);
    const whose = { label: label ?? undefined, workspace: reach === "user" ? undefined : here };
    const own = sumOf(context, { sinceMs: window.fromMs, untilMs: window.toMs, ...whose });
    const all = reach === "fleet" ? plus(own, othersSpend(context, period, nowMs)) : own;
    return [stateOf(budget, all, window, null)];
  }
  if (period === "run") {
    const own = spenders.filter(({ line }) => label === null || line[0]?.labels.includes(label));
    return own.map(({ agent, run }) =>
      stateOf(budget, sumOf(context, { workspace: here, agents: [agent], run }), null, `${agent}.${run}`),
    );
  }
  const heads = new Set(spenders.flatMap(({ line }) => headOf(line, label) ?? []));
  return [...heads].map((head) =>
    stateOf(budget, sumOf(context, { workspace: here, agents: [head, ...below(context, head)] }), null, head),
  );
}

function sumOf({ ledger }: Context, filter: Filter): Sum {
  const { usd, estimated_usd, tokens, unpriced } = ledger.spent(filter);
  return { usd, estimated_usd, tokens: sizeOf(tokens), unpriced };
}

function below(context: Context, agent: AgentId): AgentId[] {
  const children = withReader(context, (registry) => registry.children(agent));
  return children.flatMap(({ agent: { id } }) => [id, ...below(context, id)]);
}

/** An agent with those above it, as the registry has them. `labels` are its own, where somebody knows better. */
export function spenderFor(context: Context, agent: AgentId, run: number, labels?: readonly string[]): Spender {
  const line = lineOf(context, agent);
  const [own = { agent, labels: [] }, ...more] = line;
  return { agent, run, line: [{ ...own, labels: labels ?? own.labels }, ...more] };
}

/** Of one that is about to be started. */
export function newSpender(
  context: Context,
  agent: AgentId,
  labels: readonly string[],
  parent: AgentId | undefined,
): Spender {
  return { agent, run: 1, line: [{ agent, labels }, ...(parent === undefined ? [] : lineOf(context, parent))] };
}

function lineOf(context: Context, agent: AgentId): Above[] {
  const line: Above[] = [];
  for (let at: AgentId | null = agent; at !== null && !line.some((one) => one.agent === at); ) {
    const found = withReader(context, (registry) => registry.get(at as AgentId))?.agent;
    if (found === undefined) break;
    line.push({ agent: at, labels: found.labels ?? [] });
    at = found.parent;
  }
  return line;
}

/** Why it cannot start now; undefined when no budget keeps it from that. */
export function heldBack(context: Context, spender: Spender, nowMs: number = Date.now()): Wake | undefined {
  const state = heldBy(budgetStates(context, [spender], nowMs), spender);
  return state && wakeOf(state, nowMs);
}

export function wakeOf(state: BudgetState, nowMs: number): Wake {
  const { window } = state;
  return { on: "budget", why: whyHeld(state, nowMs), not_before: window === null ? null : iso(window.toMs) };
}
