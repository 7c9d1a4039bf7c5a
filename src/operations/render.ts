/** Text for people: ages, states, lists and receipts. Colour says the same as the word beside it. */
import { formatSize } from "../core/size.ts";
import { KIND_WORDS, stateOf, type Tone } from "../core/state-words.ts";
import type { ListRecord, Report } from "../core/types.ts";
import type { FleetRecord } from "../fleet/workspace.ts";
import type { RenderOptions } from "./operation.ts";
import { table } from "./table.ts";

export { table } from "./table.ts";

const COLORS = { green: 32, yellow: 33, red: 31, dim: 2 } as const;

export function paint(text: string, color: keyof typeof COLORS, options: RenderOptions): string {
  return options.color ? `\u001b[${COLORS[color]}m${text}\u001b[0m` : text;
}

export function age(time: string | null, nowMs: number = Date.now()): string {
  if (time === null) return "-";
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000));
  if (seconds < 90) return `${seconds}s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)}m`;
  return seconds < 129_600 ? `${Math.round(seconds / 3600)}h` : `${Math.round(seconds / 86_400)}d`;
}

/** For agents that ended while nobody looked, when a command leaves the cleaning up to others. */
export function leftWords(count: number): string {
  const agents = count === 1 ? "1 agent has" : `${count} agents have`;
  return `${agents} ended and not been cleaned up after yet. \`midwatch reap\` does it now, \`midwatch up\` as it goes.`;
}

const TONES: Readonly<Record<Tone, keyof typeof COLORS | null>> = {
  live: "green",
  ok: null,
  warn: "yellow",
  bad: "red",
  quiet: "dim",
};

export function state(record: Parameters<typeof stateOf>[0], options: RenderOptions): string {
  const { word, tone } = stateOf(record);
  const color = TONES[tone];
  return color === null ? word : paint(word, color, options);
}

export function listTable(records: readonly (ListRecord | FleetRecord)[], options: RenderOptions): string {
  if (records.length === 0)
    return "No agents to list. Start one: midwatch run -- COMMAND; older ones: midwatch ls --all";
  const spending = records.some(({ usd_per_hour = null }) => usd_per_hour !== null);
  const rows = records.map((record) => [
    "host" in record ? `${record.host}/${record.agent}${record.signed === false ? " (unsigned)" : ""}` : record.agent,
    state(record, options),
    record.attention ? paint(KIND_WORDS[record.attention.kind], "red", options) : "-",
    record.verdict ?? "-",
    ...(spending ? [spendingOf(record)] : []),
    formatSize(record.bytes),
    age(record.last_output_at),
    age(record.started_at),
    record.role ?? "",
  ]);
  return table(
    [
      ["AGENT", "STATE", "NEEDS YOU", "VERDICT", ...(spending ? ["USD/H"] : []), "OUTPUT", "LAST", "STARTED", "ROLE"],
      ...rows,
    ],
    options,
  );
}

/** Hosts of a fleet may be older than the field. */
function spendingOf({
  usd_per_hour = null,
  cost_estimated = false,
}: {
  usd_per_hour?: number | null;
  cost_estimated?: boolean;
}): string {
  return usd_per_hour === null ? "-" : `${cost_estimated ? "~" : ""}${usd_per_hour.toFixed(2)}`;
}

export function used({ tokens, ...cost }: Pick<ListRecord, "tokens" | "cost_usd" | "cost_estimated">): string {
  const cached = (tokens?.cache_read ?? 0) + (tokens?.cache_write ?? 0);
  const counts = tokens === null ? "" : `${tokens.input} in, ${tokens.output} out, ${cached} cached tokens`;
  const known = tokens !== null || cost.cost_usd !== null;
  return [counts, known ? costWords(cost) : ""].filter(Boolean).join(", ");
}

/** `~` marks what was worked out from a list of prices. */
function costWords({ cost_usd, cost_estimated }: Pick<ListRecord, "cost_usd" | "cost_estimated">): string {
  return cost_usd === null ? "cost unknown" : `${cost_estimated ? "~" : ""}${cost_usd.toFixed(4)} USD`;
}

/** The receipt of a stop. */
export function receipt(report: Report, options: RenderOptions): string {
  const ended = new Map<string, number>();
  for (const { ended_by } of report.processes) ended.set(ended_by, (ended.get(ended_by) ?? 0) + 1);
  const how = [...ended].map(([by, n]) => `${n} by ${by}`).join(", ");
  const proof = {
    cgroup: "its cgroup is empty",
    subreaper: "its keeper has no child left",
    scan: "no process with its mark was found in two looks",
  };
  const lines = [
    report.already_stopped
      ? `${report.agent} had ended already (${report.outcome}).`
      : `${report.agent} ${report.verified ? "stopped" : paint("NOT stopped", "red", options)} in ${report.took_ms} ms.`,
    `  processes  ${report.processes_total} ended${how && ` (${how})`}, ${report.left.length} left`,
  ];
  if (report.verified && report.guarantee) lines.push(`  proof      ${report.guarantee}: ${proof[report.guarantee]}`);
  for (const { pid, name, why } of report.left)
    lines.push(paint(`  left       ${pid} ${name}: ${why}`, "red", options));
  for (const { run } of report.children) lines.push(`  spared     ${run} (an agent of its own)`);
  const counts = new Map<string, number>();
  for (const { action } of report.files) counts.set(action, (counts.get(action) ?? 0) + 1);
  const files = [...counts].filter(([action]) => action !== "missing").map(([action, n]) => `${n} ${action}`);
  if (files.length > 0) lines.push(`  files      ${files.join(", ")}, ${formatSize(report.freed_bytes)} freed`);
  if (report.worktree) lines.push(`  worktree   ${report.worktree.action}: ${report.worktree.why}`);
  for (const { path, error } of report.files)
    if (error) lines.push(paint(`  failed     ${path}: ${error}`, "red", options));
  return lines.join("\n");
}
