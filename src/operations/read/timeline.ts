import { agentRef, runNumber } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { table } from "../render.ts";

export const timeline: Operation = operation({
  name: "timeline",
  summary: "What happened in a run, and where in its log: phases, tools, trouble, verdicts",
  details: "At most 2,000 moments; of a longer run some, evenly spread (`thinned`).",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    run: runNumber,
  }),
  changes: false,
  examples: ["midwatch timeline fix-1", "midwatch timeline fix-1 --json | jq '.items[] | select(.level == \"error\")'"],
  run: (context, { agent, run }) => workspaceOf(context).logs.timeline(agent, run),
  render: ({ items }) =>
    table(items.map(({ at, seq, kind, label }) => [at ?? "-", seq === null ? "-" : `line ${seq}`, kind, label])),
  next: ({ agent }) => `midwatch logs ${agent}`,
});
