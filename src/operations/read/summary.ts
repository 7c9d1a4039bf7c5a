import { MidwatchError } from "../../core/errors.ts";
import { agentRef } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { summaryTable, summaryText } from "../summary-text.ts";

export const summary: Operation = operation({
  name: "summary",
  summary: "Tell what one agent is doing and why the watch says so",
  details: "The last of a run that has ended is kept in summaries/<agent>/latest_summary.json (docs/summaries.md).",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    all: z.boolean().describe("Every agent that lives or ended within a day").meta({ short: "a" }).default(false),
  }),
  changes: true,
  looks: () => true,
  examples: ["midwatch summary build-1", "midwatch summary --all", "midwatch summary build-1 --json | jq .evidence"],
  async run(context, { agent, all }) {
    if (all && agent !== undefined)
      throw new MidwatchError("USAGE", "An agent and --all exclude each other.", { hint: "Leave one of them out." });
    using workspace = workspaceOf(context);
    return all ? await workspace.verdicts.all() : await workspace.verdicts.of(agent);
  },
  render: (said, options) => (Array.isArray(said) ? summaryTable(said, options) : summaryText(said, options)),
  next: (said) => (Array.isArray(said) ? undefined : `midwatch logs ${said.instance_id}`),
});
