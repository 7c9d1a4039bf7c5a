import { MidwatchError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { Report } from "../../core/types.ts";
import type { Workspace } from "../../fleet/workspace.ts";
import { agentRefs, duration } from "../fields.ts";
import { type Operation, operation, usage, workspaceOf, z } from "../operation.ts";
import { receipt } from "../render.ts";

export const stop: Operation = operation({
  name: "stop",
  summary: "End agents with every process they started, and print the proof",
  details:
    "SIGINT at once, SIGTERM at half the grace, SIGKILL at its end; each process of the run gets each signal. Exits 0 only if it is proven that nothing is left, and with --purge only if every file could be removed. Agents that it started itself go on, unless --tree is given. An id that names nobody keeps no other from being stopped; it is told at the end, and the worst exit code counts.",
  positionals: ["agents"],
  input: z.strictObject({
    agents: agentRefs,
    tree: z.boolean().describe("Agents that they started too, those first").default(false),
    grace: duration("Time from the first signal to SIGKILL; 0 kills at once (5s)").optional(),
    purge: z
      .boolean()
      .describe("Delete log and other files afterwards, and a worktree that holds no work of its own")
      .default(false),
    stop_files: z
      .enum(["keep", "archive"])
      .describe(
        "Leave log and reports at their names, or move them to the archive now and delete the rest (as configured: keep)",
      )
      .optional(),
    rescue: z
      .boolean()
      .describe("With --purge: commit what is only in its worktree to midwatch/rescue/<agent>, then remove it")
      .default(false),
    reason: z.string().max(1000).describe("Why; kept with the run").optional(),
  }),
  changes: true,
  examples: ["midwatch stop build-1", "midwatch stop --grace 0 build-1 test-1", "midwatch stop --tree lead-1"],
  run: async function* (context, { agents, tree, grace, purge, stop_files, rescue, reason }): AsyncGenerator<Report> {
    if (rescue && !purge)
      throw usage(
        "--rescue goes with --purge: without it a worktree stays as it is.",
        "midwatch stop --purge --rescue ID",
      );
    const workspace = workspaceOf(context);
    const { found, missing } = split(workspace, agents);
    if (workspace.runs.hasCompanion(found))
      context.notice("the companion comes back while a run needs it (docs/companion.md); midwatch up takes its place");
    const options = { tree, graceMs: grace, purge, files: stop_files, rescue, reason };
    if (found.length > 0) yield* await workspace.runs.stop(found, options);
    const [first] = missing;
    if (first !== undefined)
      throw new MidwatchError(first.code, missing.map(({ message }) => message).join(" "), { hint: first.hint });
  },
  render: receipt,
  next: ({ agent }) => `midwatch show ${agent}`,
  exitCode: ({ verified, files }, { purge }) =>
    verified && !(purge && files.some(({ action }) => action === "failed")) ? 0 : 1,
});

/** Who asks for a stop wants it now: one wrong word must not leave the others running. */
function split(workspace: Workspace, agents: readonly string[]): { found: AgentId[]; missing: MidwatchError[] } {
  const found: AgentId[] = [];
  const missing: MidwatchError[] = [];
  for (const agent of agents) {
    try {
      found.push(workspace.runs.resolve(agent));
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
      missing.push(error);
    }
  }
  return { found, missing };
}
