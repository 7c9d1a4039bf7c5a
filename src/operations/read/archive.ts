import { formatSize } from "../../core/size.ts";
import type { Archived } from "../../fleet/workspace.ts";
import { agentRef, bytesDone, runNumber } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

const input = z.strictObject({
  agent: agentRef(),
  run: runNumber,
});

const render = ({ files, ratio }: Archived): string =>
  files
    .map(
      ({ path, action, bytes, error }) =>
        `${action.padEnd(8)} ${path} (${formatSize(bytes ?? 0)})${error ? `: ${error}` : ""}`,
    )
    .concat(ratio === null ? [] : [`packed to ${(ratio * 100).toFixed(1)} %`])
    .join("\n");
const failed = ({ files }: Archived): number => (files.some(({ action }) => action === "failed") ? 1 : 0);

export const archive: Operation = operation({
  name: "archive",
  summary: "Compress the log of a run that has ended",
  details:
    "Reads, pages, tails and searches work on it as before; `zstd -d` reads it too. The plain file goes only after the archive was read back.",
  positionals: ["agent"],
  input,
  changes: true,
  examples: ["midwatch archive build-1"],
  run: (context, { agent, run }) => workspaceOf(context).files.archive(agent, { run, progress: bytesDone(context) }),
  render,
  exitCode: failed,
  next: (archived) => `midwatch ${failed(archived) === 0 ? "restore" : "verify"} ${archived.agent}`,
});

export const restore: Operation = operation({
  name: "restore",
  summary: "Bring back the plain log of an archived run, byte for byte",
  positionals: ["agent"],
  input,
  changes: true,
  examples: ["midwatch restore build-1"],
  run: (context, { agent, run }) => workspaceOf(context).files.restore(agent, { run, progress: bytesDone(context) }),
  render,
  exitCode: failed,
  next: ({ agent }) => `midwatch logs ${agent}`,
});
