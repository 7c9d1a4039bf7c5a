/** What agents say of themselves: progress and findings, as JSONL beside their log. Each report answers with what the peers said. */
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote, type TaskId } from "../core/ids.ts";
import { assertFlat } from "../core/json.ts";
import { isTerminal } from "../core/phase.ts";
import { iso } from "../core/time.ts";
import { freeSpace } from "../disk/free-space.ts";
import { makeFolder, removeFile } from "../disk/inside.ts";
import { appendInside, createInside } from "../disk/write-inside.ts";
import { lastReportsOf } from "../facts/last-reports.ts";
import { locate } from "../facts/locate.ts";
import { hasEnded } from "../facts/observe.ts";
import { writeView } from "../facts/view.ts";
import { Maskers } from "../stream/maskers.ts";
import { type AuditEvent, audit } from "../workspace/audit.ts";
import { assertSelf } from "../workspace/caller.ts";
import { type Context, catchUp, withReader } from "../workspace/context.ts";

export const SEVERITIES = ["low", "medium", "high", "critical"] as const;
const WORD = /^[a-z][a-z0-9_-]{0,31}$/;
const PEERS = 3;
const TEXT_MAX = 100_000;

export interface ProgressReport {
  timestamp: string;
  agent_id: AgentId;
  status: string;
  message: string;
  progress: number | null;
  /** Room for the workspace: a warning and an error below `disk_warn` and `disk_refuse`. */
  disk: { free_bytes: number; state: "ok" | "warning" | "error" } | null;
}

export interface FindingReport {
  timestamp: string;
  agent_id: AgentId;
  finding_type: string;
  severity: (typeof SEVERITIES)[number];
  message: string;
  data: unknown;
}

export interface Peers {
  peer_progress: ProgressReport[];
  peer_findings: FindingReport[];
}

export function reportProgress(
  context: Context,
  agent: AgentId,
  status: string,
  message: string,
  percent: number | null,
): ProgressReport & Peers {
  const report: ProgressReport = {
    timestamp: iso(),
    agent_id: agent,
    status: word("status", status),
    message: text(context, agent, message),
    progress: percent,
    disk: room(context),
  };
  const event = { content: `${report.status}: ${report.message}`, data: { status, percent } };
  const peers = write(context, agent, "progress", report, event);
  markReported(context, agent, isTerminal(report.status));
  return { ...report, ...peers };
}

/** For its keeper, which reads no reports. Best effort: whoever watches goes by the report itself. */
function markReported(context: Context, agent: AgentId, isDone: boolean): void {
  const { root } = context.layout;
  const { paths, facts } = locate(context, agent);
  try {
    if (!isDone) removeFile(root, paths.reported);
    else if (!hasEnded(facts)) createInside(root, paths.reported, "");
  } catch {}
}

export function reportFinding(
  context: Context,
  agent: AgentId,
  type: string,
  severity: FindingReport["severity"],
  message: string,
  data: unknown,
): FindingReport & Peers {
  assertFlat(data);
  const report: FindingReport = {
    timestamp: iso(),
    agent_id: agent,
    finding_type: word("finding type", type),
    severity,
    message: text(context, agent, message),
    data: data ?? null,
  };
  const event = { content: `${severity} ${type}: ${report.message}`, data: { finding_type: type, severity } };
  return { ...report, ...write(context, agent, "findings", report, event) };
}

function write(
  context: Context,
  agent: AgentId,
  kind: "progress" | "findings",
  report: object,
  event: Pick<AuditEvent, "content" | "data">,
): Peers {
  assertSelf(context, agent, "report for");
  const { task } = locate(context, agent).listed.agent;
  const folders = context.layout.task(task);
  makeFolder(context.layout.root, kind === "progress" ? folders.progressDir : folders.findingsDir);
  appendInside(context.layout.root, context.layout.agent(task, agent)[kind], [report], { sync: true });
  audit(context, [{ type: kind === "progress" ? "progress" : "finding", actor: agent, agent, task, ...event }]);
  catchUp(context, (registry) => registry.putReport(agent, kind, report));
  writeView(context, task);
  const { progress, findings } = recentReports(context, task, PEERS, agent);
  return { peer_progress: progress, peer_findings: findings };
}

export interface Reports {
  progress: ProgressReport[];
  findings: FindingReport[];
}

/** What the agents of a task said lately, newest first; but for one of them. */
export function recentReports(context: Context, task: TaskId, most: number, except?: AgentId): Reports {
  const agents = withReader(context, (registry) => registry.list({ all: true, task })).filter(
    ({ agent }) => agent.id !== except,
  );
  const maskers = new Maskers(context);
  const lately = <T extends { timestamp: string }>(which: "progress" | "findings"): T[] =>
    agents
      .flatMap((of) => lastReportsOf<T>(context.layout, of, which, most).map((one) => ({ of, one })))
      .sort((a, b) => (a.one.timestamp < b.one.timestamp ? 1 : -1))
      .slice(0, most)
      .map(({ of, one }) => maskers.ofAgent(of.agent.id).value(one) as T);
  return { progress: lately("progress"), findings: lately("findings") };
}

/** Null where it cannot be asked for. */
function room({ layout, config }: Context): ProgressReport["disk"] {
  try {
    const { bytes } = freeSpace(layout.root);
    const state = bytes < config.disk_refuse ? "error" : bytes < config.disk_warn ? "warning" : "ok";
    return { free_bytes: bytes, state };
  } catch {
    return null;
  }
}

function word(what: string, value: string): string {
  if (WORD.test(value)) return value;
  throw new MidwatchError("USAGE", `${quote(value)} is not a ${what}.`, {
    hint: "Use one word of a-z, 0-9, _ and -, such as working or completed.",
  });
}

function text(context: Context, agent: AgentId, message: string): string {
  if (message.length <= TEXT_MAX) return new Maskers(context).ofAgent(agent).text(message);
  throw new MidwatchError("USAGE", `The message has ${message.length} characters; at most ${TEXT_MAX} are kept.`, {
    hint: "Put long text into a file and name the file.",
  });
}
