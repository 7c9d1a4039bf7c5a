import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, table } from "../render.ts";

export const tasks: Operation = operation({
  name: "tasks",
  summary: "List tasks, newest first",
  input: z.strictObject({}),
  changes: false,
  examples: ["midwatch tasks", "midwatch tasks --json | jq -r .task"],
  run: (context) => workspaceOf(context).runs.tasks(),
  render: (found, options) =>
    found.length === 0
      ? "No tasks."
      : table(
          [
            ["TASK", "AGE", "DESCRIPTION"],
            ...found.map((one) => [one.task, age(one.created_at), one.description.split("\n")[0]?.slice(0, 100) ?? ""]),
          ],
          options,
        ),
  next: ([newest]) =>
    newest === undefined ? 'midwatch task "what is to be done"' : `midwatch ls --all --task ${newest.task}`,
});
