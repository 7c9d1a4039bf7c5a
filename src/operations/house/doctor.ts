import { MidwatchError } from "../../core/errors.ts";
import { examine } from "../../setup/doctor.ts";
import { type Operation, operation, usage, workspaceOf, z } from "../operation.ts";
import { paint, table } from "../render.ts";

export const doctor: Operation = operation({
  name: "doctor",
  summary: "Check what midwatch needs on this machine and in this workspace",
  input: z.strictObject({
    rebuild: z.boolean().describe("Make the registry anew from the folders first").default(false),
    self_check: z
      .boolean()
      .describe("Run one agent of one second in a folder of its own: start, log, stop, receipt, tier")
      .default(false),
  }),
  changes: true,
  examples: ["midwatch doctor", "midwatch doctor --self-check", "midwatch doctor --rebuild"],
  run: async (context, { rebuild, self_check: selfCheck }) => {
    if (selfCheck) {
      if (context.door !== "cli") throw usage("Only the command line checks itself.", "midwatch doctor --self-check");
      return await (await import("../../setup/self-check.ts")).selfCheck(context.env);
    }
    let workspace: ReturnType<typeof workspaceOf> | undefined;
    try {
      workspace = workspaceOf(context);
    } catch (error) {
      if (!(error instanceof MidwatchError && error.code === "NOT_FOUND_WORKSPACE") || rebuild) throw error;
    }
    return await examine(workspace, context.env, rebuild);
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
