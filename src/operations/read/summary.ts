import { agentRef, configFlag } from "../fields.ts";
import { type Operation, operation, usage, workspaceOf, z } from "../operation.ts";
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
    if (all && agent !== undefined) throw usage("An agent and --all exclude each other.", "Leave one of them out.");
    using workspace = workspaceOf(context);
    return all ? await workspace.verdicts.all() : await workspace.verdicts.of(agent);
  },
  render: (said, options) => (Array.isArray(said) ? summaryTable(said, options) : summaryText(said, options)),
  next: (said) => (Array.isArray(said) ? undefined : `midwatch logs ${said.instance_id}`),
});

export const watch: Operation = operation({
  name: "watch",
  summary: "Tell what each agent is doing: on track, drifting, off track, blocked, or unknown",
  details:
    "Prints a summary whenever a verdict changes, until Ctrl-C; `midwatch up` does the same without printing. A verdict names the rules behind it and the lines of the log. It only tells, unless a task was made with --on-verdict.",
  input: z.strictObject({
    once: z.boolean().describe("One look at all of them, then end").default(false),
    watch_poll: configFlag("watch_poll"),
  }),
  changes: true,
  examples: ["midwatch watch", "midwatch watch --once", "midwatch watch --json | jq -r .on_track_status"],
  async *run(context, { once, ...config }) {
    using workspace = workspaceOf(context, { config });
    if (!once) {
      for await (const one of workspace.verdicts.follow(context.signal, (text) => context.notice(text))) yield [one];
      return;
    }
    const { summaries, failed } = await workspace.verdicts.rounds().round({ once: true });
    for (const { agent, error } of failed) context.notice(`${agent} could not be read: ${error}`);
    yield summaries;
  },
  render: (summaries, options) =>
    summaries.length === 1 && summaries[0] ? summaryText(summaries[0], options) : summaryTable(summaries, options),
  next: (summaries) =>
    summaries?.[0] === undefined ? 'midwatch run "what it should do"' : `midwatch summary ${summaries[0].instance_id}`,
});
