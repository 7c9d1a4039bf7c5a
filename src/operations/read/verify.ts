import { agentRef, runNumber } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { bytesDone } from "../progress.ts";
import { renderVerified } from "./jsonl.ts";

export const verify: Operation = operation({
  name: "verify",
  summary: "Check a log: every line, its unfinished end, and its index against the bytes",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    run: runNumber,
  }),
  changes: false,
  examples: ["midwatch verify build-1", "midwatch verify --run 1 build-1"],
  run: (context, { agent, run }) => workspaceOf(context).logs.verify(agent, { run, progress: bytesDone(context) }),
  render: renderVerified,
  exitCode: ({ ok }) => (ok ? 0 : 1),
});
