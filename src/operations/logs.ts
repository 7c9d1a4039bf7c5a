import { z } from "zod";
import type { LogRecord } from "../fleet.ts";
import { agentRef } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Operation, operation } from "./operation.ts";

const LINES = 100;

export const logs: Operation = operation<ReturnType<typeof inputOf>, Uint8Array | LogRecord>({
  name: "logs",
  summary: "Read what an agent printed",
  details: `The last ${LINES} lines by default. --raw gives exactly the bytes the agent printed, from the first to the last.`,
  positionals: ["agent"],
  input: inputOf(),
  changes: false,
  examples: [
    "midwatch logs build-1",
    "midwatch logs -f build-1",
    "midwatch logs --raw build-1 > copy",
    "midwatch logs --stderr -n 20 build-1",
  ],
  run: (context, { agent, lines, follow, raw, stderr, run }) => {
    const workspace = workspaceOf(context);
    const options = {
      lines: raw && lines === undefined ? undefined : (lines ?? LINES),
      follow,
      raw,
      stderr,
      run,
      signal: context.signal,
    };
    return context.json && !raw ? workspace.logRecords(agent, options) : workspace.logBytes(agent, options);
  },
});

function inputOf() {
  return z.strictObject({
    agent: agentRef().optional(),
    lines: z.coerce
      .number()
      .int()
      .min(0)
      .max(1e9)
      .describe(`The last N lines (${LINES})`)
      .meta({ short: "n", value: "N" })
      .optional(),
    follow: z.boolean().describe("Go on printing until the run has ended").meta({ short: "f" }).default(false),
    raw: z.boolean().describe("The bytes as the agent printed them, all of them").default(false),
    stderr: z.boolean().describe("What it printed to stderr").default(false),
    run: z.coerce.number().int().min(1).max(1e9).describe("An earlier run").meta({ value: "N" }).optional(),
  });
}
