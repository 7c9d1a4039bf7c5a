import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const checkpoint: Operation = operation({
  name: "checkpoint",
  summary: "Show or set the last interaction that an agent has handled",
  details:
    "Kept in agent-<id>.checkpoint, whose first line is the number. Setting it makes the agent's consumer go on with the interactions above it. An agent may set its own.",
  positionals: ["agent", "interaction"],
  input: z.strictObject({
    agent: z.string().min(1).describe("Agent id; one that midwatch did not start may have a checkpoint too").meta({
      value: "AGENT",
    }),
    interaction: z.number().int().min(0).max(1e15).describe("The last handled interaction").optional(),
  }),
  changes: true,
  examples: ["midwatch checkpoint builder-1", "midwatch checkpoint builder-1 12"],
  run(context, { agent, interaction }) {
    using workspace = workspaceOf(context);
    return workspace.journal.checkpoint(agent, interaction);
  },
  render: ({ agent, interaction }) =>
    interaction === null ? `${agent} has no checkpoint.` : `${agent} has handled up to interaction ${interaction}.`,
  next: ({ interaction }) => (interaction === null ? undefined : "midwatch events"),
});
