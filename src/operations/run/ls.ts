import { parseTaskId, type TaskId } from "../../core/ids.ts";
import type { ListRecord } from "../../core/types.ts";
import type { FleetRecord } from "../../fleet/workspace.ts";
import { fleetOf } from "../fleet-of.ts";
import { type Context, type Operation, operation, workspaceOf, z } from "../operation.ts";
import { leftWords, listTable } from "../render.ts";

export const ls: Operation = operation({
  name: "ls",
  summary: "List agents that live or ended within a day",
  input: z.strictObject({
    all: z.boolean().describe("Every agent of the workspace").meta({ short: "a" }).default(false),
    task: z.string().describe("Only agents of this task").meta({ value: "TASK" }).optional(),
    all_hosts: z.boolean().describe("The agents of every host of the fleet (docs/scale.md)").default(false),
  }),
  changes: false,
  examples: ["midwatch ls", "midwatch ls --all --json | jq -r 'select(.outcome==\"failed\").agent'"],
  run: async (context, { all, task, all_hosts }): Promise<(ListRecord | FleetRecord)[]> => {
    const wanted = task === undefined ? undefined : parseTaskId(task);
    if (!all_hosts) {
      const onLeft = (count: number): void => context.notice(leftWords(count));
      return inTask(context, await workspaceOf(context).runs.list({ all, companion: all, onLeft }), wanted);
    }
    await using fleet = await fleetOf(context);
    return (await fleet.list(all)).filter((record) => wanted === undefined || record.task === wanted);
  },
  render: listTable,
  next: (records) => {
    const [first] = records;
    const needy = records.find((record) => !("host" in record) && record.attention !== null);
    return (
      needy?.attention?.next ?? (first && `midwatch show ${"host" in first ? `${first.host}/` : ""}${first.agent}`)
    );
  },
});

/** A shorter list must not look like an all-clear. */
function inTask(context: Context, records: ListRecord[], task: TaskId | undefined): ListRecord[] {
  if (task === undefined) return records;
  const others = records.filter((record) => record.task !== task && record.attention !== null).length;
  if (others > 0 && !context.json)
    context.notice(
      `${others} ${others === 1 ? "agent" : "agents"} of other tasks ${others === 1 ? "needs" : "need"} you: midwatch`,
    );
  return records.filter((record) => record.task === task);
}
