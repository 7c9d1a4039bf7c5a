import { parseTaskId } from "../../core/ids.ts";
import { duration } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const claim: Operation = operation({
  name: "claim",
  summary: "Claim a task, so that no two agents do the same work",
  details:
    "Of several at once one gets it; the others are refused (exit 4), and told who has it. Inside a run its agent claims its own task, and has it until it gives it back, or its run ends or dies. A person's claim lasts until it is given back, or for --ttl. Claiming again what one has prolongs it. `tasks` tells who has what.",
  positionals: ["task"],
  input: z.strictObject({
    task: z.string().describe("The task; inside a run it is that run's").meta({ value: "TASK" }).optional(),
    as: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .describe("Who claims it; inside a run it is that run's agent")
      .meta({
        value: "NAME",
      })
      .optional(),
    ttl: duration("End the claim by itself after this time, unless it is claimed again").optional(),
    release: z.boolean().describe("Give it back; a person may do so for anybody").default(false),
  }),
  changes: true,
  examples: [
    "midwatch claim",
    "midwatch claim TASK-20261115-190000-1a2b3c4d --as ci --ttl 30m",
    "midwatch claim --release",
  ],
  run: (context, { task, as, ttl, release }) =>
    workspaceOf(context).runs.claim(task === undefined ? undefined : parseTaskId(task), { as, ttlMs: ttl, release }),
  render: ({ task, holder, term }) => (holder === null ? `${task} is free` : `${task} is ${holder}'s (term ${term})`),
  next: () => "midwatch tasks",
});
