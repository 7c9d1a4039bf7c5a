import { MidwatchError } from "../../core/errors.ts";
import { examine } from "../../setup/doctor.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { paint, table } from "../render.ts";

export const doctor: Operation = operation({
  name: "doctor",
  summary: "Check what midwatch needs on this machine and in this workspace",
  input: z.strictObject({
    rebuild: z.boolean().describe("Make the registry anew from the folders first").default(false),
  }),
  changes: true,
  examples: ["midwatch doctor", "midwatch doctor --rebuild"],
  run: (context, { rebuild }) => {
    let workspace: ReturnType<typeof workspaceOf> | undefined;
    try {
      workspace = workspaceOf(context);
    } catch (error) {
      if (!(error instanceof MidwatchError && error.code === "NOT_FOUND_WORKSPACE") || rebuild) throw error;
    }
    return examine(workspace, context.env, rebuild);
  },
  render: (checks, options) =>
    table(
      checks.map(({ state, check, message }) => [
        paint(state, ({ ok: "green", warning: "yellow", failed: "red" } as const)[state], options),
        check,
        message,
      ]),
    ),
  next: (checks) => (checks.some(({ state }) => state === "failed") ? undefined : 'midwatch run "what it should do"'),
  exitCode: (checks) => (checks.some(({ state }) => state === "failed") ? 5 : 0),
});
