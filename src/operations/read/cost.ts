import { opensAt } from "../../budget/window.ts";
import { amountText } from "../../core/config/budget.ts";
import type { CostBucket, CostRecord } from "../../core/cost-record.ts";
import type { Workspace } from "../../fleet/workspace.ts";
import { time } from "../fields.ts";
import { type Context, type Operation, operation, type RenderOptions, workspaceOf, z } from "../operation.ts";
import { table } from "../render.ts";
import { costChart } from "./cost-chart.ts";

export const cost: Operation = operation({
  name: "cost",
  summary: "Tell what agents spent: tokens and money by task, model, agent, project or day",
  details:
    "From the ledger of this user (cost.md), which is written while agents work: no log is read. Where a CLI gives no cost it is worked out from the tokens and a list of prices, and marked with ~; what has no price is unknown. The last line is the sum.",
  input: z.strictObject({
    since: time("Only what was spent since then: 24h, or 2026-11-15T19:00:00Z; of a chart the last 24 h").optional(),
    by: z.enum(["task", "model", "agent", "project", "day"]).describe("What the figures are summed by").default("task"),
    chart: z.boolean().describe("Over time, as a chart; with --json what was spent in each stretch of it").optional(),
    everywhere: z.boolean().describe("In all workspaces of this user, not only in this one; for people").optional(),
  }),
  changes: true,
  looks: () => true,
  examples: [
    "midwatch cost",
    "midwatch cost --since 24h --by model",
    "midwatch cost --chart --everywhere --by project",
  ],
  async run(context, { since, by, chart, everywhere }): Promise<CostRecord[] | CostBucket[]> {
    using workspace = workspaceOf(context);
    const query = { since, by, everywhere };
    if (!context.json && context.door === "cli") await tellBudgets(context, workspace);
    const untold = context.door === "cli" ? workspace.verdicts.untold() : 0;
    if (untold > 0) context.notice(`${untold} living agents have not been read yet. Next: midwatch watch --once`);
    return chart ? workspace.verdicts.costSeries(query) : workspace.verdicts.cost(query);
  },
  render: (records, options) => (isSeries(records) ? costChart(records, options) : costTable(records, options)),
  next: (records) => (isSeries(records) ? "midwatch cost --by day --since 7d" : "midwatch cost --chart --since 24h"),
});

/** Today and this week against their budgets. */
async function tellBudgets(context: Context, workspace: Workspace): Promise<void> {
  for (const { period, label, unit, of, spent, estimated, percent, until, zone } of await workspace.budgets.show()) {
    if (until === null) continue;
    const amounts = `${estimated ? "~" : ""}${amountText({ unit, most: spent })} of ${amountText({ unit, most: of })}`;
    const whose = label === null ? "" : ` for ${label}`;
    const next = opensAt(Date.parse(until), Date.now(), zone);
    context.notice(`the ${period}'s budget${whose}: ${amounts} (${percent} %); starts over ${next}`);
  }
}

/** A chart of nothing is one, too: a table has the sum at least. */
function isSeries(records: CostRecord[] | CostBucket[]): records is CostBucket[] {
  const [first] = records;
  return first === undefined || "until" in first;
}

function costTable(records: readonly CostRecord[], options: RenderOptions): string {
  const rows = records.map(({ of, runs, tokens, estimated_usd, ...money }) => [
    of,
    String(runs),
    String(tokens.input),
    String(tokens.output),
    String(tokens.cache_read + tokens.cache_write),
    `${estimated_usd > 0 ? "~" : ""}${moneyWords(money)}`,
  ]);
  return table([["OF", "RUNS", "INPUT", "OUTPUT", "CACHED", "USD"], ...rows], options);
}

function moneyWords({ cost_usd, unpriced }: Pick<CostRecord, "cost_usd" | "unpriced">): string {
  if (cost_usd === null) return "unknown";
  return `${cost_usd.toFixed(4)}${unpriced > 0 ? ` + ${unpriced} without a price` : ""}`;
}
