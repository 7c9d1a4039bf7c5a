import { agentRef } from "../fields.ts";
import { z } from "../input.ts";
import { workspaceOf } from "../open.ts";
import { type Operation, operation } from "../operation.ts";
import { table } from "../render.ts";

export const timeline: Operation = operation({
  name: "timeline",
  summary: "What happened in a run, and where in its log: phases, tools, trouble, verdicts",
  details: "At most 2,000 moments; of a longer run some, evenly spread (`thinned`).",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    run: z.number().int().min(1).max(1e9).describe("An earlier run").meta({ value: "N" }).optional(),
  }),
  changes: false,
  examples: ["midwatch timeline fix-1", "midwatch timeline fix-1 --json | jq '.items[] | select(.level == \"error\")'"],
  run: (context, { agent, run }) => workspaceOf(context).logs.timeline(agent, run),
  render: ({ items }) =>
    table(items.map(({ at, seq, kind, label }) => [at ?? "-", seq === null ? "-" : `line ${seq}`, kind, label])),
  next: ({ agent }) => `midwatch logs ${agent}`,
});
