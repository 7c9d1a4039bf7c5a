/** What several tools answer, in the field names that callers of MCP know. */
import { z } from "zod";
import type { Wake } from "../../core/attention-record.ts";
import { ATTENTION_KINDS, type Attention } from "../../core/attention-record.ts";
import { MidwatchError } from "../../core/errors.ts";
import type { ListRecord, ShowRecord } from "../../core/types.ts";
import { show } from "../../operations/run/show.ts";
import type { Call, Guidance } from "./tool.ts";

export const AGENT_ID = "Agent id or a unique prefix of one";

export const taskId: z.ZodOptional<z.ZodString> = z
  .string()
  .describe("The agent's task; when given it must be right")
  .optional();

/** One agent, as `midwatch ls --json` tells it. */
export interface AgentReply extends Omit<ListRecord, "agent" | "task"> {
  agent_id: string;
  task_id: string;
}

export const attentionSchema: z.ZodType<Attention | null> = z
  .object({ kind: z.enum(ATTENTION_KINDS), why: z.string(), next: z.string() })
  .nullable()
  .describe("Why it needs a person, and the command for that; null when it does not");

export const agentSchema: z.ZodType<Record<string, unknown>> = z.looseObject({
  agent_id: z.string(),
  task_id: z.string(),
  status: z.string().describe("queued, running, blocked, completed, failed, terminated or error"),
  phase: z.string(),
  outcome: z.string().nullable(),
  verdict: z.string().nullable(),
  attention: attentionSchema,
});

export function agentReply(record: ListRecord): AgentReply {
  const { agent, task, ...rest } = record;
  return { agent_id: agent, task_id: task, ...rest };
}

/** The agent as it is; refused when it does not work on the task that was named. */
export async function shownAgent(call: Call, agent: string | undefined, task?: string): Promise<ShowRecord> {
  const record = await call.ask<ShowRecord>(show, { agent });
  if (task === undefined || record.task === task) return record;
  throw new MidwatchError("NOT_FOUND_AGENT", `${record.agent} does not work on ${task}.`, {
    hint: `Its task is ${record.task}; task_id may be left out.`,
  });
}

/** For tools that have no other need to look at the agent: who names its task must name the right one. */
export async function assertTask(call: Call, agent: string | undefined, task: string | undefined): Promise<void> {
  if (task !== undefined) await shownAgent(call, agent ?? call.agent, task);
}

export function guidance(state: string, next: string, ...actions: string[]): Guidance {
  return { current_state: state, next_action: next, available_actions: actions };
}

/** For one that waits: only a person raises a budget. */
export function waitText(wake: Wake | null | undefined): string {
  return wake?.on === "budget"
    ? `It ${wake.why} (a person's to type). Do other work, or wait_for_agents.`
    : "It starts when there is room: wait_for_agents.";
}

/** What to do about one agent. */
export function agentGuidance({ agent, phase, outcome, verdict, queued, wake, attention }: ListRecord): Guidance {
  const id = `agent_id ${agent}`;
  if (queued && phase === "intended") return guidance("queued", waitText(wake), "kill_real_agent", "list_agents");
  if (phase === "lost")
    return guidance("lost", `Its keeper is gone: kill_real_agent with ${id} ends what is left.`, "kill_real_agent");
  if (phase === "stuck")
    return guidance("stuck", "Processes of it cannot be ended: tell a person.", "get_agent_output");
  if (outcome === null && verdict !== null && verdict !== "on_track" && verdict !== "unknown")
    return guidance(
      `${phase}, ${verdict}`,
      `Look at why: get_agent_summary with ${id}.`,
      "get_agent_summary",
      "send_message",
      "kill_real_agent",
    );
  if (outcome === null)
    return guidance(
      phase,
      "Do other work, then wait_for_agents; do not ask for its output again and again.",
      "wait_for_agents",
      "get_agent_output",
      "get_agent_summary",
      "kill_real_agent",
    );
  if (outcome === "completed" && attention === null)
    return guidance("completed", `Read its result: get_agent_output with ${id}.`, "get_agent_output", "search_logs");
  return guidance(
    outcome,
    attention === null ? `Read the end of its log: get_agent_output with ${id}.` : attention.why,
    "get_agent_output",
    "deploy_headless_agent",
  );
}
