import type { FailureRecord, ReapRecord } from "../../fleet/workspace.ts";
import { duration } from "../fields.ts";
import { type Operation, operation, type RenderOptions, workspaceOf, z } from "../operation.ts";
import { age, table } from "../render.ts";

export const reap: Operation = operation({
  name: "reap",
  summary: "Finish what nobody finished: states, cleanups, archives; list runs that lost their keeper",
  details:
    "Reads every run of the workspace, settles what has ended, tries failed cleanups again and archives logs that are older than archive_after. A lost run that is still alive is only listed; --lost ends it with proof. --failed lists what could not be cleaned up.",
  input: z.strictObject({
    dry_run: z.boolean().describe("Only say what would be done").default(false),
    lost: z.boolean().describe("End lost runs that are alive").default(false),
    failed: z.boolean().describe("Only list the steps of cleanups that failed").default(false),
    grace: duration("Time from the first signal to SIGKILL").optional(),
  }),
  changes: true,
  examples: ["midwatch reap --dry-run", "midwatch reap --lost", "midwatch reap --failed"],
  run: async (context, { dry_run, lost, failed, grace }): Promise<(ReapRecord | FailureRecord)[]> => {
    const workspace = workspaceOf(context);
    return failed ? workspace.runs.failures() : await workspace.runs.reap({ dryRun: dry_run, lost, graceMs: grace });
  },
  render: (records, options) => {
    if (records.length === 0) return "Nothing to do.";
    const tried = records.filter(isFailure);
    const reaped = records.flatMap((one) => (isFailure(one) ? [] : [one]));
    return tried.length > 0 ? failureTable(tried, options) : reapTable(reaped, options);
  },
  next: (records) =>
    records.some((one) => !isFailure(one) && one.action === "listed" && one.alive > 0)
      ? "midwatch reap --lost"
      : records.some(isFailure)
        ? "midwatch reap"
        : undefined,
  exitCode: (records) => (records.some((one) => !isFailure(one) && one.action === "failed") ? 1 : 0),
});

function isFailure(record: ReapRecord | FailureRecord): record is FailureRecord {
  return "tries" in record;
}

function reapTable(records: readonly ReapRecord[], options: RenderOptions): string {
  const rows = records.map(({ agent, run, phase, alive, action, path, error }) => [
    agent,
    String(run),
    phase,
    String(alive),
    action,
    [path, error].filter(Boolean).join(": "),
  ]);
  return table([["AGENT", "RUN", "PHASE", "ALIVE", "ACTION", "FILE"], ...rows], options);
}

function failureTable(records: readonly FailureRecord[], options: RenderOptions): string {
  const rows = records.map(({ agent, run, step, tries, since, path, error }) => [
    agent,
    String(run),
    step,
    String(tries),
    age(since),
    `${path}: ${error}`,
  ]);
  return table([["AGENT", "RUN", "STEP", "TRIES", "SINCE", "FILE"], ...rows], options);
}
