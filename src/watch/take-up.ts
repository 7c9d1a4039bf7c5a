/** What runs of this workspace cost that the ledger does not know: they ended before there was one, or while it could not be written. */
import { sizeOf } from "../drivers/stream.ts";
import type { UsedRow } from "../registry/used.ts";
import type { Ledger, RunTotals } from "../spend/ledger.ts";
import type { Prices } from "../spend/prices.ts";
import { type Context, withReader } from "../workspace/context.ts";

/** Of a run that goes on only what the watch said last, when nobody has told the ledger of it yet. */
export function takeUp(context: Context, ledger: Ledger, workspace: RunTotals["workspace"]): void {
  const known = ledger.known(workspace.id);
  const missing = withReader(context, (registry) => registry.used()).filter(({ agent, run, ended }) => {
    const final = known.get(`${agent}.${run}`);
    return final === undefined || (ended && !final);
  });
  if (missing.length === 0) return;
  const { prices } = context;
  ledger.recordAll(missing.map((row) => ({ totals: totalsOf(row, workspace, prices), atMs: Date.parse(row.at) })));
}

function totalsOf(row: UsedRow, workspace: RunTotals["workspace"], prices: Prices): RunTotals {
  const { task, agent, run, labels, model, tokens, told_usd, spent, ended } = row;
  const usd = spent?.usd ?? told_usd ?? prices.of(model, tokens);
  const used = told_usd !== null || sizeOf(tokens) > 0;
  const parts = used ? [{ model, tokens, usd, estimated: spent?.estimated ?? told_usd === null }] : [];
  return { workspace, task, agent, run, labels, parts, told_usd, final: ended };
}
