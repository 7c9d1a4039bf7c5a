import type { Watcher } from "../../core/needs-watch.ts";
import { formatSize } from "../../core/size.ts";
import { KIND_WORDS } from "../../core/state-words.ts";
import type { ChildRecord, WorktreeState } from "../../core/types.ts";
import { agentRef } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";
import { age, state, table, used } from "../render.ts";

function when(time: string | null): string {
  return time === null ? "-" : `${age(time)} ago (${time})`;
}

/** For limits of tokens and money, verdicts and the queue: its keeper sees to the rest. */
function watcherText({ by, agent, pid }: Watcher): string {
  if (by === null) return "by nobody";
  return by === "up" ? `by midwatch up (pid ${pid})` : `by the companion ${agent} (pid ${pid})`;
}

/** Agents that it started, and they, indented. */
function tree(children: readonly ChildRecord[], indent = "  "): string[] {
  return children.flatMap(({ agent, phase, outcome, role, children: below }) => [
    `${indent}${agent}  ${outcome ?? phase}${role ? `  ${role}` : ""}`,
    ...tree(below, `${indent}  `),
  ]);
}

function branchLine({ branch, dirty, commits }: WorktreeState): string {
  if (dirty === null || commits === null) return `${branch}, gone or not readable`;
  return `${branch}, ${commits} ${commits === 1 ? "commit" : "commits"}, ${dirty ? "uncommitted changes" : "clean"}`;
}

export const show: Operation = operation({
  name: "show",
  summary: "Show one agent: state, runs and files",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    files: z.boolean().describe("Every file that is kept for it (JSON has them always)").default(false),
  }),
  changes: false,
  examples: ["midwatch show build-1", "midwatch show --files build-1", "midwatch show build-1 --json | jq .exit"],
  run: async (context, { agent, files }) => {
    const record = await workspaceOf(context).runs.show(agent);
    return context.json || files ? record : { ...record, files: [] };
  },
  render: (record, options) => {
    const lines: [string, string][] = [
      ["agent", record.agent],
      ["task", record.task],
      ["state", state(record, options)],
      ["verdict", record.verdict ?? "-"],
      ["run", `${record.run} (${record.guarantee ?? "-"})`],
      ["started", when(record.started_at)],
      ["ended", when(record.ended_at)],
      [
        "output",
        `${formatSize(record.bytes)}, ${record.last_output_at === null ? (record.outcome === null ? "nothing yet" : "nothing printed") : `last ${age(record.last_output_at)} ago`}`,
      ],
      ["log", record.log],
    ];
    // Of another host that is away, or of an older release, nobody has said it.
    if (record.outcome === null && record.watched_by !== undefined)
      lines.push(["watched", watcherText(record.watched_by)]);
    if (record.claim) lines.push(["claims", `${record.claim.task} (term ${record.claim.term})`]);
    if (record.worktree) lines.push(["worktree", record.worktree.path], ["branch", branchLine(record.worktree)]);
    const { attention, reason } = record;
    if (attention) lines.splice(3, 0, ["needs you", `${KIND_WORDS[attention.kind]}: ${attention.why}`]);
    else if (record.wake) lines.splice(3, 0, ["why", record.wake.why]);
    else if (reason) lines.splice(3, 0, ["why", reason]);
    if (record.cost_usd !== null || record.tokens !== null) lines.push(["used", used(record)]);
    if (record.subagents) lines.push(["sub-agents", String(record.subagents)]);
    if (record.deferred) lines.push(["deferred", `${record.deferred.tool} ${JSON.stringify(record.deferred.input)}`]);
    if (record.pinned) lines.push(["pinned", "no prune takes it"]);
    if (record.parent) lines.splice(2, 0, ["parent", record.parent]);
    for (const { pid, name } of record.alive ?? []) lines.push(["alive", `${pid} ${name}`]);
    for (const one of record.runs.length > 1 ? record.runs : []) {
      lines.push([`run ${one.run}`, `${one.outcome ?? one.phase}, ${formatSize(one.bytes)}, ${one.log}`]);
    }
    for (const { path, error } of record.cleanup_failures) lines.push(["failed", `${path}: ${error}`]);
    const files = record.files.map(({ kind, bytes, created_at, path, sha256 }) => [
      kind,
      created_at === null ? "-" : formatSize(bytes ?? 0),
      created_at === null ? "-" : age(created_at),
      sha256?.slice(0, 12) ?? "-",
      path,
    ]);
    const below = tree(record.children);
    return [
      table(lines),
      ...(below.length > 0 ? ["started", ...below] : []),
      ...(files.length > 0 ? ["", table([["KIND", "SIZE", "AGE", "SHA256", "PATH"], ...files], options)] : []),
    ].join("\n");
  },
  next: ({ agent, phase, attention }) => {
    // What leads here again is no next step.
    if (attention && attention.next !== `midwatch show ${agent}`) return attention.next;
    return phase === "running" ? `midwatch logs -f ${agent}` : `midwatch logs ${agent}`;
  },
});
