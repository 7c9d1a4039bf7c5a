import { time } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { table } from "../render.ts";

export const cost: Operation = operation({
  name: "cost",
  summary: "Tell what agents used: tokens and money by task, model or agent",
  details:
    "As the CLIs count, also for runs that were killed or lost. Where a CLI gives no cost it is worked out from the tokens and a list of prices, and marked with ~. The last line is the sum.",
  input: z.strictObject({
    since: time("Only runs that lived since then: 24h, or 2026-11-15T19:00:00Z").optional(),
    by: z.enum(["task", "model", "agent"]).describe("What the figures are summed by").default("task"),
  }),
  changes: true,
  looks: () => true,
  examples: ["midwatch cost", "midwatch cost --since 24h --by model", "midwatch cost --by agent --json"],
  async run(context, { since, by }) {
    using workspace = workspaceOf(context);
    return await workspace.verdicts.cost({ since, by });
  },
  render: (records, options) => {
    const rows = records.map(({ of, runs, tokens, cost_usd, estimated_usd, unpriced }) => [
      of,
      String(runs),
      String(tokens.input),
      String(tokens.output),
      String(tokens.cache_read + tokens.cache_write),
      `${estimated_usd > 0 ? "~" : ""}${cost_usd.toFixed(4)}${unpriced > 0 ? ` + ${unpriced} without a price` : ""}`,
    ]);
    return table([["OF", "RUNS", "INPUT", "OUTPUT", "CACHED", "USD"], ...rows], options);
  },
  next: () => "midwatch cost --by agent --since 24h",
});
