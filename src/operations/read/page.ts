import { agentRef, count, runNumber, time } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

export const page: Operation = operation({
  name: "page",
  summary: "One window of a log, with the place of the next",
  details:
    "From the beginning, or from a line, a byte, a time or the end. `lines` counts the whole lines that are there now. A line of more than 128 KiB is shown by its beginning. Works at once on logs of any size, archived ones too.",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    run: runNumber,
    line: count("Begin behind this many lines").optional(),
    offset: count("Begin at this byte, or at the line behind it").optional(),
    time: time("Begin with what was printed then: 10m (ago), or 2026-11-15T19:00:00Z").optional(),
    tail: z.boolean().describe("The last lines").default(false),
    limit: z.number().int().min(1).max(1000).describe("At most this many lines").meta({ value: "N" }).default(200),
    stderr: z.boolean().describe("What it printed to stderr").default(false),
  }),
  changes: false,
  examples: ["midwatch page --tail build-1", "midwatch page --line 5000000 --limit 50 build-1 --json | jq .next"],
  run: (context, { agent, time: timeMs, ...options }) => workspaceOf(context).logs.page(agent, { ...options, timeMs }),
  render: ({ records, first_line, lines }) =>
    [...records.map((record) => JSON.stringify(record)), `lines ${first_line ?? "?"} on, of ${lines ?? "?"}`].join(
      "\n",
    ),
});
