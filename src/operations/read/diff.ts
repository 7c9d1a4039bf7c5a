import type { ChangedFile, WorktreeDiff } from "../../worktree/worktree-diff.ts";
import { agentRef } from "../fields.ts";
import { type Operation, operation, type RenderOptions, workspaceOf, z } from "../operation.ts";
import { paint, table } from "../render.ts";

export const diff: Operation = operation({
  name: "diff",
  summary: "Show what an agent changed in its worktree",
  details:
    "Everything since the commit that it began with: its commits and what it has not committed, untracked files too (ignored ones not). Looking changes nothing, also while it works.",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    stat: z.boolean().describe("Only commits and files, with their counts of lines").default(false),
    mask: z
      .boolean()
      .describe("Hide what looks like a secret; with --no-mask the text can be applied as a patch")
      .default(true),
  }),
  changes: false,
  examples: ["midwatch diff port-1", "midwatch diff --stat port-1", "midwatch diff --no-mask port-1 | git apply"],
  run: async (context, { agent, stat, mask }) => {
    const workspace = workspaceOf(context);
    const found = await workspace.runs.diff(agent, { stat });
    if (!mask) return found;
    const hide = workspace.logs.maskers().ofAgent(found.agent);
    const commits = found.commits.map((one) => ({ ...one, subject: hide.text(one.subject) }));
    return { ...found, commits, patch: found.patch === null ? null : hide.text(found.patch) };
  },
  render: (found, options) => found.patch ?? summary(found, options),
});

function summary(found: WorktreeDiff, options: RenderOptions): string {
  const { branch, base, commits, files, dirty } = found;
  const lines = [`${branch}, since ${base.slice(0, 12)}${dirty ? ", with uncommitted changes" : ""}`];
  for (const { commit, subject } of commits) lines.push(`  ${paint(commit.slice(0, 12), "dim", options)} ${subject}`);
  if (files.length === 0) return [...lines, "No file is changed."].join("\n");
  const rows = files.map((file) => row(file, options));
  return [...lines, table(rows, options)].join("\n");
}

function row({ status, path, from, added, deleted }: ChangedFile, options: RenderOptions): string[] {
  const counts =
    added === null ? "binary" : [paint(`+${added}`, "green", options), paint(`-${deleted}`, "red", options)].join(" ");
  return [` ${status}`, counts, from === null ? path : `${from} → ${path}`];
}
