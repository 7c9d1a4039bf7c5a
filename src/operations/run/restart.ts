import { agentRef } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { waiting } from "./run.ts";

export const restart: Operation = operation({
  name: "restart",
  summary: "Start the next run of an agent that has ended",
  details:
    "The former run's log moves to archive/ and is never overwritten. An agent that lives is refused: stop it first.",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef(),
    resume: z
      .string()
      .describe("Go on with the CLI's own session instead of beginning anew; TEXT is what the agent is told")
      .meta({ value: "TEXT", optionalValue: true })
      .optional(),
  }),
  changes: true,
  examples: ["midwatch restart build-1", 'midwatch restart fix-1 --resume "now run the tests too"'],
  run: (context, { agent, resume }) =>
    workspaceOf(context).runs.restart(agent, { resume: resume === "" ? true : resume }),
  render: (record) =>
    record.error
      ? `${record.agent}  ${record.phase}: ${record.error.message}`
      : record.pid === null
        ? `${record.agent}  run ${record.run} queued${waiting(record)}`
        : `${record.agent}  run ${record.run} running (pid ${record.pid})`,
  next: ({ agent, error, wake }) =>
    error ? `midwatch show ${agent}` : wake ? "midwatch budget" : `midwatch logs -f ${agent}`,
  exitCode: (record) => (record.phase === "launch_failed" ? 1 : 0),
});
