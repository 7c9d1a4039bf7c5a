import { formatSize } from "../../core/size.ts";
import { duration, size } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { table } from "../render.ts";

export const prune: Operation = operation({
  name: "prune",
  summary: "Take away agents that ended long ago, or the oldest when there is too much",
  details:
    "An agent goes with its logs, archives, reports and facts; a task goes with its last agent. Only what has ended and was cleaned up is taken, oldest first; a worktree with work that is nowhere else keeps its agent. A worktree that is all in another branch is removed by git; everything else is moved to the trash first and can be brought back with --undo for a day (trash_for); a later prune, or `midwatch up`, deletes it for good.",
  input: z.strictObject({
    older: duration("Ended longer ago than this (14d)").optional(),
    over: size("Take the oldest while the workspace is larger than this (5G)").optional(),
    dry_run: z.boolean().describe("Only say what would be done").default(false),
    undo: z
      .string()
      .describe("Bring back the last prune's, or what is named: an agent, a task or an id in the trash")
      .meta({ value: "ID", optionalValue: true })
      .optional(),
  }),
  changes: true,
  examples: [
    "midwatch prune --dry-run",
    "midwatch prune --older 3d",
    "midwatch prune --over 1G",
    "midwatch prune --undo",
  ],
  run: (context, { older, over, dry_run, undo }) => {
    const workspace = workspaceOf(context);
    if (undo !== undefined) return workspace.files.undoPrune(undo === "" ? undefined : undo);
    const progress = (text: string): void => context.progress(text);
    return workspace.files.prune({ olderMs: older, overBytes: over, dryRun: dry_run, progress });
  },
  render: (records, options) => {
    if (records.length === 0) return "Nothing to do.";
    const rows = records.map(({ action, agent, task, bytes, why, errors }) => [
      action,
      agent ?? task ?? "-",
      formatSize(bytes),
      [why, ...errors].join("; "),
    ]);
    const moved = records.filter(({ action }) => action !== "kept" && action !== "failed");
    const sum = formatSize(moved.reduce((total, { bytes }) => total + bytes, 0));
    return `${table([["ACTION", "WHAT", "SIZE", "WHY"], ...rows], options)}\n${moved.length} in all, ${sum}`;
  },
  next: (records) =>
    records.some(({ action }) => action === "trash")
      ? "midwatch prune"
      : records.some(({ action }) => action === "trashed")
        ? "midwatch prune --undo"
        : undefined,
  exitCode: (records) => (records.some(({ action }) => action === "failed") ? 1 : 0),
});
