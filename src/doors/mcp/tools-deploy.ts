/** Tools that make tasks and agents, and end them. */
import { z } from "zod";
import { MidwatchError } from "../../core/errors.ts";
import type { TaskFact } from "../../core/intent.ts";
import type { Report } from "../../core/types.ts";
import type { RunRecord } from "../../fleet/workspace.ts";
import { run } from "../../operations/run/run.ts";
import { stop } from "../../operations/run/stop.ts";
import { task } from "../../operations/run/task.ts";
import { agentGuidance, assertTask, guidance, shownAgent, taskId, waitText } from "./records.ts";
import { type Call, type Reply, type Tool, tool } from "./tool.ts";

/** A call must not outlast what clients wait for. */
const GRACE_MAX_SECONDS = 30;

export const createTask: Tool = tool({
  name: "create_real_task",
  title: "Create a task",
  about:
    "Makes a task that agents can work on, with its own folder. What is given here reaches each agent of the task in its prompt. Then call deploy_headless_agent with the task_id.",
  operation: task,
  fields: {
    description: "description",
    priority: "priority",
    expected_deliverables: "deliverable",
    constraints: "constraint",
    relevant_files: "file",
    labels: "label",
    max_agents: "max_agents",
  },
  output: {
    task_id: z.string(),
    description: z.string(),
    status: z.string(),
    workspace: z.string(),
    created_at: z.string(),
  },
  async run(call, input) {
    const made = await call.ask<TaskFact>(task, input);
    return {
      task_id: made.task,
      description: made.description,
      status: "initialized",
      workspace: call.workspace().root,
      created_at: made.created_at,
      guidance: guidance(
        "a task without agents",
        `deploy_headless_agent with task_id ${made.task} and a prompt.`,
        "deploy_headless_agent",
        "get_real_task_status",
      ),
    };
  },
});

const DEPLOYED = {
  agent_id: z.string(),
  task_id: z.string(),
  type: z.string().nullable(),
  parent: z.string().nullable(),
  status: z.enum(["deployed", "queued"]),
  run: z.number(),
  phase: z.string(),
  workspace: z.string(),
  log_file: z.string(),
  pid: z.number().nullable(),
  keeper_pid: z.number().nullable(),
  guarantee: z.string().nullable(),
  tmux_session: z.null().describe("No tmux is involved: a keeper owns the run"),
};

const START_FIELDS = {
  prompt: "prompt",
  driver: "driver",
  command: "command",
  model: "model",
  permission: "permission",
  name: "name",
  cwd: "cwd",
  worktree: "worktree",
  interactive: "interactive",
  queue: "queue",
  limit_wall: "limit_wall",
  limit_tokens: "limit_tokens",
  limit_cost: "limit_cost",
};

export const deployAgent: Tool = tool({
  name: "deploy_headless_agent",
  title: "Deploy a headless agent",
  about:
    "Starts a coding agent (claude, codex and others) with a prompt, or any command, in the background and returns at once with its agent_id. Everything it prints is recorded; it goes on until it ends or is killed. Follow it with wait_for_agents and get_agent_output.",
  operation: run,
  fields: { task_id: "task", agent_type: "role", parent: "parent", ...START_FIELDS },
  output: DEPLOYED,
  run: (call, input) => start(call, input),
});

export const spawnChild: Tool = tool({
  name: "spawn_child_agent",
  title: "Spawn a child agent",
  about:
    "Starts an agent below another one, on the same task. For agents that midwatch runs parent_agent_id is themselves and may be left out. How deep and how many is limited.",
  operation: run,
  fields: { parent_agent_id: "parent", child_agent_type: "role", ...START_FIELDS },
  more: { task_id: taskId },
  output: DEPLOYED,
  async run(call, input, { task_id }) {
    if (input["parent"] === undefined && call.agent === undefined)
      throw new MidwatchError("USAGE", "parent_agent_id is missing: you are no agent of this workspace.", {
        hint: "Name the parent, or use deploy_headless_agent.",
      });
    await assertTask(call, input["parent"] as string | undefined, task_id);
    return await start(call, input);
  },
});

async function start(call: Call, input: Readonly<Record<string, unknown>>): Promise<Reply> {
  const [made] = await call.ask<RunRecord[]>(run, input);
  if (made === undefined || made.error)
    throw new MidwatchError("LAUNCH_FAILED", made?.error?.message ?? "The agent was not started.", {
      hint: made ? `get_agent_output with agent_id ${made.agent} and stderr true may tell why.` : undefined,
    });
  const { agent, task: on, run: number, phase, log, pid, keeper_pid, guarantee, wake } = made;
  const queued = pid === null;
  const parent = (input["parent"] as string | undefined) ?? call.agent ?? null;
  return {
    agent_id: agent,
    task_id: on,
    type: (input["role"] as string | undefined) ?? null,
    parent,
    status: queued ? "queued" : "deployed",
    ...{ run: number, phase, workspace: call.workspace().root, log_file: log, pid, keeper_pid, guarantee },
    tmux_session: null,
    guidance: guidance(
      queued ? `queued: ${waitText(wake)}` : "running in the background",
      `wait_for_agents with agent_ids ["${agent}"]; meanwhile do other work.`,
      "wait_for_agents",
      "get_agent_output",
      "get_agent_summary",
      "kill_real_agent",
    ),
  };
}

export const killAgent: Tool = tool({
  name: "kill_real_agent",
  title: "Kill an agent",
  about:
    "Ends an agent with every process it started, proves that nothing is left, then archives its log, findings and progress and deletes its other files; what it printed can still be read and searched. Killing one that has ended is no error.",
  operation: stop,
  fields: { reason: "reason", tree: "tree", purge: "purge", stop_files: "stop_files" },
  more: {
    agent_id: z.string().min(1).describe("Agent id or a unique prefix of one"),
    task_id: taskId,
    grace_seconds: z
      .number()
      .min(0)
      .max(GRACE_MAX_SECONDS)
      .describe("Time from the first signal to SIGKILL; 0 kills at once (5)")
      .optional(),
  },
  destructive: true,
  idempotent: true,
  output: {
    agent_id: z.string(),
    tmux_session: z.null(),
    session_killed: z.boolean().describe("Something was alive and is ended"),
    reason: z.string().nullable(),
    status: z.enum(["terminated", "not_terminated"]),
    outcome: z.string().nullable(),
    cleanup: z.object({
      success: z.boolean(),
      files_deleted: z.array(z.string()),
      files_archived: z.array(z.string()),
      files_kept: z.array(z.string()),
      files_failed: z.array(z.object({ path: z.string(), error: z.string() })),
      verified_no_zombies: z.boolean(),
      freed_bytes: z.number(),
    }),
    processes_ended: z.number(),
    left: z.array(z.looseObject({ pid: z.number(), name: z.string() })),
    children_ended: z.array(z.string()),
    already_stopped: z.boolean(),
    took_ms: z.number(),
  },
  async run(call, input, { agent_id, task_id, grace_seconds }) {
    const { agent } = await shownAgent(call, agent_id, task_id);
    const grace = grace_seconds === undefined ? {} : { grace: `${grace_seconds * 1000}ms` };
    const { stop_files: usual } = call.workspace().config;
    const files = { stop_files: usual === "auto" ? "archive" : usual, ...input };
    const reports = await call.ask<Report[]>(stop, { ...files, ...grace, agents: [agent] });
    const report = reports.find((one) => one.agent === agent) as Report;
    const verified = reports.every((one) => one.verified);
    const which = (action: string) => report.files.filter((file) => file.action === action);
    const paths = (action: string) => which(action).map(({ path }) => path);
    return {
      success: verified,
      agent_id: agent,
      tmux_session: null,
      session_killed: verified && !report.already_stopped,
      reason: (input["reason"] as string | undefined) ?? null,
      status: verified ? "terminated" : "not_terminated",
      outcome: report.outcome,
      cleanup: {
        success: which("failed").length === 0,
        files_deleted: paths("deleted"),
        files_archived: paths("archived"),
        files_kept: paths("kept"),
        files_failed: which("failed").map(({ path, error }) => ({ path, error: error ?? "unknown" })),
        verified_no_zombies: verified,
        freed_bytes: report.freed_bytes,
      },
      processes_ended: report.processes_total,
      left: report.left,
      children_ended: reports.filter((one) => one.agent !== agent).map((one) => one.agent),
      already_stopped: report.already_stopped,
      took_ms: report.took_ms,
      guidance: verified
        ? guidance(
            "ended, proven",
            input["purge"] === true ? "Nothing: its files are deleted." : "Read what it did: get_agent_output.",
            ...(input["purge"] === true ? [] : ["get_agent_output"]),
            "deploy_headless_agent",
          )
        : agentGuidance(await shownAgent(call, agent)),
    };
  },
});
