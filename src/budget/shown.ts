/** What budgets say of runs that live or wait, for whoever lists them: why one waits, and which passed budget a living one counts to. */
import type { Attention, Wake } from "../core/attention-record.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { ListRecord } from "../core/types.ts";
import type { Context } from "../workspace/context.ts";
import { type BudgetState, heldBy, raiseCommand, type Spender, spentText, toldOf } from "./budget-plan.ts";
import { budgetStates, budgetsInForce, spenderFor, wakeOf } from "./budgets.ts";

/** Adds it to their records. `open` are the runs that are not over. */
export function withBudgets(
  context: Context,
  open: readonly { agent: AgentId; run: number }[],
  nowMs: number = Date.now(),
): (record: ListRecord) => ListRecord {
  const { spenders, states } = look(context, open, nowMs);
  return (record) => {
    const spender = spenders.get(record.agent);
    // A plain command that lives counts to none.
    if (spender === undefined || (!record.queued && record.driver === "command")) return record;
    const state = record.queued ? heldBy(states, spender) : toldOf(states, spender);
    if (state === undefined) return record;
    const wake = record.queued ? wakeOf(state, nowMs) : null;
    return { ...record, wake, attention: record.attention ?? attentionOf(state, wake) };
  };
}

function attentionOf(state: BudgetState, wake: Wake | null): Attention {
  const text = wake?.why.split("; or: ")[0] ?? `${spentText(state)}; nothing is stopped for it`;
  const why = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
  return { kind: "budget", why, next: raiseCommand(state) };
}

interface Look {
  spenders: Map<AgentId, Spender>;
  states: BudgetState[];
}

/** A list is wanted also when budgets cannot be read; whoever starts something is told that. */
function look(context: Context, open: readonly { agent: AgentId; run: number }[], nowMs: number): Look {
  const nothing = { spenders: new Map(), states: [] };
  try {
    const inForce = open.length === 0 ? [] : budgetsInForce(context);
    if (inForce.length === 0) return nothing;
    const spenders = open.map(({ agent, run }) => spenderFor(context, agent, run));
    const states = budgetStates(context, spenders, nowMs, inForce);
    return { spenders: new Map(spenders.map((one) => [one.agent, one])), states };
  } catch (error) {
    if (error instanceof MidwatchError) return nothing;
    throw error;
  }
}
