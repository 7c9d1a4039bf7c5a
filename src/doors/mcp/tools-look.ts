/** Tools that tell of tasks and agents, and wait for them. */

import { z } from "zod";
import { MidwatchError } from "../../core/errors.ts";
import { parseTaskId } from "../../core/ids.ts";
import type { TaskFact } from "../../core/intent.ts";
import { isOver } from "../../core/phase.ts";
import type { ListRecord } from "../../core/types.ts";
import type { AgentSummary, LogRecord } from "../../fleet/workspace.ts";
import { usage } from "../../operations/operation.ts";
import { logs } from "../../operations/read/logs.ts";
import { search } from "../../operations/read/search.ts";
import { summary } from "../../operations/read/summary.ts";
import { ls } from "../../operations/run/ls.ts";
import { tasks } from "../../operations/run/task.ts";
import { first, last, MOST } from "./bounds.ts";
import {
  AGENT_ID,
  agentGuidance,
  agentReply,
  agentSchema,
  attentionSchema,
  guidance,
  shownAgent,
  taskId,
} from "./records.ts";
import { type Tool, tool } from "./tool.ts";

const REPORTS = 10;
const FORMATS = ["parsed", "jsonl", "text"] as const;

export const taskStatus: Tool = tool({
  name: "get_real_task_status",
  title: "Status of a task",
  about:
    "Tells of one task: its description, its agents with state and verdict, who started whom, and what they reported lately.",
  operation: tasks,
  more: { task_id: z.string().describe("The task") },
  output: {
    task_id: z.string(),
    description: z.string(),
    status: z.enum(["initialized", "active", "completed", "ended"]),
    workspace: z.string(),
    created_at: z.string(),
    agents: z.object({
      total_spawned: z.number(),
      active: z.number(),
      completed: z.number(),
      agents_list: z.array(agentSchema),
      truncated: z.boolean(),
    }),
    hierarchy: z.record(z.string(), z.array(z.string())).describe("Parent → children"),
    enhanced_progress: z.object({
      recent_updates: z.array(z.looseObject({ agent_id: z.string() })),
      recent_findings: z.array(z.looseObject({ agent_id: z.string() })),
    }),
  },
  async run(call, _, { task_id }) {
    const id = parseTaskId(task_id);
    const fact = (await call.ask<TaskFact[]>(tasks, {})).find(({ task }) => task === id);
    if (fact === undefined)
      throw new MidwatchError("NOT_FOUND_TASK", `There is no task ${id}.`, { hint: "create_real_task makes one." });
    const records = await call.ask<ListRecord[]>(ls, { all: true, task: id });
    const active = records.filter(({ phase }) => !isOver({ phase }));
    const completed = records.filter(({ outcome }) => outcome === "completed");
    const { items, truncated } = await first(records.map(agentReply));
    const { progress, findings } = call.workspace().mail.reports(id, REPORTS);
    const children = Map.groupBy(
      records.filter(({ parent }) => parent !== null),
      ({ parent }) => parent as string,
    );
    const status =
      records.length === 0
        ? "initialized"
        : active.length > 0
          ? "active"
          : completed.length === records.length
            ? "completed"
            : "ended";
    return {
      task_id: id,
      description: fact.description,
      status,
      workspace: call.workspace().root,
      created_at: fact.created_at,
      agents: {
        total_spawned: records.length,
        active: active.length,
        completed: completed.length,
        agents_list: items,
        truncated,
      },
      hierarchy: Object.fromEntries([...children].map(([parent, below]) => [parent, below.map(({ agent }) => agent)])),
      enhanced_progress: { recent_updates: progress, recent_findings: findings },
      guidance:
        active.length > 0
          ? guidance(
              status,
              `wait_for_agents with task_id ${id}.`,
              "wait_for_agents",
              "get_agent_output",
              "send_message",
            )
          : guidance(
              status,
              records.length === 0 ? "deploy_headless_agent" : "Read the results: get_agent_output.",
              "deploy_headless_agent",
              "get_agent_output",
            ),
    };
  },
});

export const listAgents: Tool = tool({
  name: "list_agents",
  title: "List agents",
  about:
    "Lists agents that live or ended within a day, newest first: state, verdict, whether it needs a person, output, tokens, cost.",
  operation: ls,
  fields: { task_id: "task", all: "all" },
  more: { cursor: z.string().describe("From an earlier answer: go on behind it").optional() },
  output: {
    agents: z.array(agentSchema),
    total: z.number(),
    cursor: z.string().nullable().describe("Give it back to get those behind; null: there are no more"),
  },
  async run(call, input, { cursor }) {
    const records = await call.ask<ListRecord[]>(ls, input);
    const from = cursor === undefined ? 0 : records.findIndex(({ agent }) => agent === cursor) + 1;
    const { items, truncated } = await first(records.slice(from).map(agentReply));
    const live = records.filter(({ phase }) => !isOver({ phase })).length;
    return {
      agents: items,
      total: records.length,
      cursor: truncated ? (items.at(-1)?.agent_id ?? null) : null,
      guidance: guidance(
        `${live} of ${records.length} live`,
        records.length === 0 ? "deploy_headless_agent starts one." : "get_agent_summary or get_agent_output of one.",
        "get_agent_summary",
        "get_agent_output",
        "wait_for_agents",
        "deploy_headless_agent",
      ),
    };
  },
});

export const agentOutput: Tool = tool({
  name: "get_agent_output",
  title: "Output of an agent",
  about: `Reads what an agent printed, as records: the last ${MOST} by default, at most about 110 KB. With cursor from an earlier answer it reads on from there, so that nothing is read twice and nothing is missed. With offset and limit it reads any part. Secrets are hidden.`,
  operation: logs,
  fields: { filter: "grep", since: "since", stderr: "stderr", run: "run" },
  more: {
    agent_id: z.string().min(1).describe(AGENT_ID),
    task_id: taskId,
    tail: z.number().int().min(1).max(MOST).describe(`The last N records (${MOST})`).optional(),
    offset: z.number().int().min(0).max(1e15).describe("Begin behind this many lines (not with cursor)").optional(),
    limit: z.number().int().min(1).max(MOST).describe(`With offset or cursor: at most N records (${MOST})`).optional(),
    cursor: z.string().describe("From an earlier answer: read on behind it").optional(),
    format: z
      .enum(FORMATS)
      .describe("parsed: output is a list of records; jsonl: a text with a record a line; text: what it printed")
      .default("parsed"),
  },
  output: {
    agent_id: z.string(),
    task_id: z.string(),
    session_status: z.string().describe("running, or how it ended"),
    output: z.union([
      z.array(z.looseObject({ seq: z.number().nullable(), offset: z.number(), type: z.string() })),
      z.string(),
    ]),
    source: z.enum(["jsonl_log", "stderr"]).describe("stderr: asked for, or all that there is"),
    note: z.string().nullable(),
    truncated: z.boolean().describe("There is more than was given"),
    cursor: z.string().describe("Give it back to read on from here"),
    metadata: z.object({
      file_path: z.string(),
      run: z.number(),
      bytes: z.number(),
      returned: z.number(),
      last_output_at: z.string().nullable(),
    }),
  },
  async run(call, input, { agent_id, task_id, tail, offset, limit, cursor, format }) {
    if (offset !== undefined && cursor !== undefined)
      throw usage("cursor and offset are two ways to say where to begin.", "Give one of them.");
    const record = await shownAgent(call, agent_id, task_id);
    const asked = (input["run"] as number | undefined) ?? null;
    const from = cursor === undefined ? undefined : readCursor(cursor);
    // A restart begins a new log: what is behind the cursor is then all of it.
    const run = asked ?? record.run;
    const part = offset ?? (limit === undefined ? undefined : 0);
    const line = from === undefined ? part : from.run === run ? from.line : 0;
    const options = { ...input, agent: record.agent, run };
    const ends = (more: object) =>
      last(call.items<LogRecord>(logs, { ...options, ...more, lines: tail ?? MOST }), tail);
    const { items, truncated } =
      line === undefined
        ? await ends({})
        : await first(call.items<LogRecord>(logs, { ...options, offset: line }), limit ?? tail);
    // Nothing on stdout: an agent that cannot start tells why on stderr.
    const silent = line === undefined && input["grep"] === undefined && items.every(({ type }) => type === "lifecycle");
    const errors = silent && input["stderr"] !== true ? await ends({ stderr: true }) : undefined;
    const shown = errors !== undefined && errors.items.length > 0 ? errors : undefined;
    const end = items.at(-1)?.seq ?? line ?? 0;
    const of = record.runs.find((one) => one.run === run);
    const over = record.outcome !== null;
    return {
      agent_id: record.agent,
      task_id: record.task,
      session_status: record.outcome ?? record.phase,
      output: inFormat(shown?.items ?? items, format),
      source: shown !== undefined || input["stderr"] === true ? "stderr" : "jsonl_log",
      note:
        items.length > 0 && shown === undefined
          ? null
          : line !== undefined && line > 0
            ? "Nothing new"
            : `${over ? "Agent exited without writing logs" : "Agent has not yet written any logs"}${shown === undefined ? "" : "; this is the end of its stderr"}`,
      truncated: shown?.truncated ?? truncated,
      cursor: `${run}:${end}`,
      metadata: {
        file_path: of?.log ?? record.log,
        run,
        bytes: of?.bytes ?? record.bytes,
        returned: (shown?.items ?? items).length,
        last_output_at: record.last_output_at,
      },
      guidance:
        truncated && line !== undefined
          ? guidance(record.phase, "There is more: call again with the cursor.", "get_agent_output", "search_logs")
          : agentGuidance(record),
    };
  },
});

function inFormat(records: readonly LogRecord[], format: (typeof FORMATS)[number]): readonly LogRecord[] | string {
  if (format === "parsed") return records;
  const lines = records.map((record) => (format === "jsonl" ? JSON.stringify(record) : lineOf(record)));
  return lines.map((line) => `${line}\n`).join("");
}

/** A record that was cut has the beginning of its line under another name. */
function lineOf(record: LogRecord & { data_cut?: string; text_cut?: string; b64_cut?: string }): string {
  if (record.data !== undefined) return JSON.stringify(record.data);
  return record.text ?? record.raw_content ?? record.data_cut ?? record.text_cut ?? record.b64 ?? record.b64_cut ?? "";
}

function readCursor(text: string): { run: number; line: number } {
  const [, run, line] = /^(\d{1,9}):(\d{1,15})$/.exec(text) ?? [];
  if (run !== undefined && line !== undefined) return { run: Number(run), line: Number(line) };
  throw usage(
    `${JSON.stringify(text)} is not a cursor.`,
    "Give back the cursor of an earlier answer as it is, or leave it out.",
  );
}

export const agentSummary: Tool = tool({
  name: "get_agent_summary",
  title: "Summary of an agent",
  about:
    "Tells what an agent is doing and whether it is on track, drifting, off track or blocked, with confidence, reasons, the lines of its log that show it, and what to do. Far shorter than its output.",
  operation: summary,
  idempotent: true,
  more: { agent_id: z.string().min(1).describe(AGENT_ID), task_id: taskId },
  output: {
    agent_id: z.string(),
    task_id: z.string(),
    session_status: z.string(),
    attention: attentionSchema,
    summary: z.looseObject({
      on_track_status: z.string(),
      confidence_score: z.number(),
      current_activity: z.string(),
      recommended_action: z.string(),
      drift_reasons: z.array(z.string()),
      evidence: z.array(z.looseObject({ rule: z.string(), quote: z.string() })),
    }),
  },
  async run(call, _, { agent_id, task_id }) {
    const record = await shownAgent(call, agent_id, task_id);
    const found = await call.ask<AgentSummary>(summary, { agent: record.agent });
    return {
      agent_id: record.agent,
      task_id: record.task,
      session_status: record.outcome ?? record.phase,
      attention: (await shownAgent(call, record.agent)).attention,
      summary: found,
      guidance: {
        ...agentGuidance(record),
        current_state: `${record.outcome ?? record.phase}, ${found.on_track_status}`,
        ...(found.recommended_action === "None." ? {} : { next_action: found.recommended_action }),
      },
    };
  },
});

export const searchLogs: Tool = tool({
  name: "search_logs",
  title: "Search all logs",
  about: `Finds text in the logs of all agents, live and archived; the first ${MOST} lines that hold it. The text is taken as it is, not as a regular expression.`,
  operation: search,
  fields: { text: "text", task_id: "task", agent_id: "agent", since: "since" },
  output: {
    hits: z.array(
      z.looseObject({ agent_id: z.string(), run: z.number(), seq: z.number().nullable(), text: z.string() }),
    ),
    truncated: z.boolean(),
  },
  async run(call, input) {
    const hits = call.items<{ agent: string; run: number; seq: number | null; text: string }>(search, input);
    const { items, truncated } = await first(hits);
    return {
      hits: items.map(({ agent, text, ...rest }) => ({ agent_id: agent, text: text ?? "", ...rest })),
      truncated,
      guidance: guidance(
        `${items.length}${truncated ? " and more" : ""} lines found`,
        truncated ? "Narrow it by agent_id, task_id or since." : "get_agent_output shows what is around a line.",
        "get_agent_output",
        "search_logs",
      ),
    };
  },
});
