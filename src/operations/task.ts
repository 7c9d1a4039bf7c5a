import { z } from "zod";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";

export const task: Operation = operation({
  name: "task",
  summary: "Make a task that agents can work on",
  positionals: ["description"],
  input: z.strictObject({
    description: z.string().trim().min(1).max(100_000).describe("The goal, for people and agents"),
  }),
  changes: true,
  examples: ['midwatch task "Port the parser to Rust"'],
  run: (context, { description }) => workspaceOf(context, { make: true }).task(description),
  render: (made) => made.task,
  next: (made) => `midwatch run --task ${made.task} -- COMMAND`,
});
