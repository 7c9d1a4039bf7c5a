import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, table } from "../render.ts";

export const task: Operation = operation({
  name: "task",
  summary: "Make a task that agents can work on",
  positionals: ["description"],
  input: z.strictObject({
    description: z.string().trim().min(1).max(100_000).describe("The goal, for people and agents"),
    priority: z.enum(["low", "normal", "high", "urgent"]).describe("How much it matters").optional(),
    label: z.array(z.string()).describe("A word to find it by").meta({ value: "WORD" }).default([]),
    deliverable: z.array(z.string()).describe("What should exist in the end").meta({ value: "TEXT" }).default([]),
    constraint: z.array(z.string()).describe("What must hold").meta({ value: "TEXT" }).default([]),
    file: z.array(z.string()).describe("A file worth reading first").meta({ value: "PATH" }).default([]),
    max_agents: z
      .number()
      .int()
      .min(1)
      .describe("Live agents that may work on it at once")
      .meta({ value: "N" })
      .optional(),
    on_verdict: z
      .enum(["notify", "interrupt", "stop"])
      .describe("What follows when the watch is sure that an agent of it is blocked or off track (notify)")
      .meta({ value: "notify|interrupt|stop" })
      .optional(),
  }),
  changes: true,
  details: "What is given here reaches each agent of the task in its prompt.",
  examples: [
    'midwatch task "Port the parser to Rust"',
    'midwatch task "Port the parser" --deliverable "all tests pass" --constraint "no new dependency" --file src/parse.ts',
  ],
  run: (context, { description, priority, label, deliverable, constraint, file, max_agents, on_verdict }) => {
    const some = (items: string[]): string[] | undefined => (items.length > 0 ? items : undefined);
    return workspaceOf(context, { make: true }).runs.makeTask(description, {
      priority,
      labels: some(label),
      deliverables: some(deliverable),
      constraints: some(constraint),
      files: some(file),
      max_agents,
      on_verdict,
    });
  },
  render: (made) => made.task,
  next: (made) => `midwatch run --task ${made.task} -- COMMAND`,
});

export const tasks: Operation = operation({
  name: "tasks",
  summary: "List tasks, newest first",
  input: z.strictObject({}),
  changes: false,
  examples: ["midwatch tasks", "midwatch tasks --json | jq -r .task"],
  async run(context) {
    const { runs } = workspaceOf(context);
    const claims = new Map((await runs.claims()).map((claim) => [claim.task, claim]));
    return runs.tasks().map((one) => ({ ...one, claim: claims.get(one.task) ?? null }));
  },
  render: (found, options) =>
    found.length === 0
      ? "No tasks."
      : table(
          [
            ["TASK", "AGE", "CLAIMED BY", "DESCRIPTION"],
            ...found.map((one) => [
              one.task,
              age(one.created_at),
              one.claim?.holder ?? "-",
              one.description.split("\n")[0]?.slice(0, 100) ?? "",
            ]),
          ],
          options,
        ),
  next: ([newest]) =>
    newest === undefined ? 'midwatch task "what is to be done"' : `midwatch ls --all --task ${newest.task}`,
});
