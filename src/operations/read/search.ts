import { parseTaskId } from "../../core/ids.ts";
import { formatSize } from "../../core/size.ts";
import { agentRef, time } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { paint } from "../render.ts";

export const search: Operation = operation({
  name: "search",
  summary: "Find text in the logs of all agents, live and archived",
  details:
    "The text is taken as it is, not as a regular expression. Each line is given once, oldest first for each run. A log that cannot be read is named, and the others are searched.",
  positionals: ["text"],
  input: z.strictObject({
    text: z.string().min(1).max(10_000).describe("The text to find"),
    task: z.string().describe("Only agents of this task").meta({ value: "TASK" }).optional(),
    agent: agentRef("Only this agent").optional(),
    since: time("Only lines printed since then").optional(),
  }),
  changes: false,
  examples: ['midwatch search "rate limit"', "midwatch search --agent build-1 --since 1h ECONNRESET"],
  run: (context, { text, task, agent, since }) =>
    workspaceOf(context).logs.search(text, {
      task: task === undefined ? undefined : parseTaskId(task),
      agent,
      sinceMs: since,
      signal: context.signal,
      onUnread: (id, run, why) => context.notice(`${id}.${run} is not searched to its end: ${why}`),
      onStart: (logs, bytes) => context.progress(`searching ${logs} logs, ${formatSize(bytes)}`),
    }),
  next: (hit) =>
    hit === undefined || hit.seq === null
      ? undefined
      : `midwatch logs ${hit.agent} --run ${hit.run} --offset ${hit.seq - 1} --limit 20`,
  render: ({ agent, run, seq, text }, options) => `${paint(`${agent}.${run}:${seq ?? "?"}`, "dim", options)} ${text}`,
});
