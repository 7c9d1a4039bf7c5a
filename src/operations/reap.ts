import { z } from "zod";
import { duration } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";
import { table } from "./render.ts";

export const reap: Operation = operation({
  name: "reap",
  summary: "Settle runs that nobody finished, and list those that lost their keeper",
  details:
    "Reads every run of the workspace. A lost run that is still alive is only listed; --lost ends it with proof.",
  positionals: [],
  input: z.strictObject({
    dry_run: z.boolean().describe("Only say what would be done").default(false),
    lost: z.boolean().describe("End lost runs that are alive").default(false),
    grace: duration("Time from the first signal to SIGKILL").optional(),
  }),
  changes: true,
  examples: ["midwatch reap --dry-run", "midwatch reap --lost"],
  run: (context, { dry_run, lost, grace }) => workspaceOf(context).reap({ dryRun: dry_run, lost, graceMs: grace }),
  render: (records) =>
    records.length === 0
      ? "Nothing to do."
      : table([
          ["AGENT", "RUN", "PHASE", "ALIVE", "ACTION"],
          ...records.map((one) => [one.agent, String(one.run), one.phase, String(one.alive), one.action]),
        ]),
  next: (records) =>
    records.some(({ action, alive }) => action === "listed" && alive > 0) ? "midwatch reap --lost" : undefined,
  exitCode: (records) => (records.some(({ action }) => action === "failed") ? 1 : 0),
});
