import { z } from "zod";
import { parseTaskId } from "../core/ids.ts";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";
import { listTable } from "./render.ts";

export const ls: Operation = operation({
  name: "ls",
  summary: "List agents that live or ended within a day",
  positionals: [],
  input: z.strictObject({
    all: z.boolean().describe("Every agent of the workspace").meta({ short: "a" }).default(false),
    task: z.string().describe("Only agents of this task").meta({ value: "TASK" }).optional(),
  }),
  changes: false,
  examples: ["midwatch ls", "midwatch ls --all --json | jq -r 'select(.outcome==\"failed\").agent'"],
  run: (context, { all, task }) =>
    workspaceOf(context).list({ all, task: task === undefined ? undefined : parseTaskId(task) }),
  render: listTable,
  next: (records) => (records[0] ? `midwatch show ${records[0].agent}` : undefined),
});
