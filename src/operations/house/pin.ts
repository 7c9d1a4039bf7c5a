import { agentRef } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const pin: Operation = operation({
  name: "pin",
  summary: "Keep an agent from being pruned",
  details:
    "No prune takes a pinned agent to the trash: not by its age, not by the size of the workspace, and not by hand.",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef(),
    off: z.boolean().describe("Let it go again").default(false),
  }),
  changes: true,
  examples: ["midwatch pin fix-190000-1a2b3c", "midwatch pin fix --off"],
  run: (context, { agent, off }) => workspaceOf(context).files.pin(agent, { off }),
  next: ({ agent, pinned }) => `midwatch ${pinned ? "show" : "pin"} ${agent}`,
  render: ({ agent, pinned }) => `${agent} ${pinned ? "is pinned" : "may be pruned"}`,
});
