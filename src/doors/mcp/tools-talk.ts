/** Tools by which agents and people tell each other things. */
import { z } from "zod";
import { isTerminal } from "../../core/phase.ts";
import type { Message } from "../../core/types.ts";
import type { JournalEvent } from "../../fleet/workspace.ts";
import { event } from "../../operations/journal/event.ts";
import { events } from "../../operations/journal/events.ts";
import { finding, progress } from "../../operations/run/report.ts";
import { send } from "../../operations/run/send.ts";
import { first, last, MOST } from "./bounds.ts";
import { assertTask, guidance, taskId } from "./records.ts";
import { type Tool, tool } from "./tool.ts";

const selfId = z
  .string()
  .min(1)
  .describe("Who reports; an agent that midwatch runs reports for itself and may leave it out")
  .optional();
const reports = z.array(z.looseObject({ agent_id: z.string() }));
const PEERS = z.object({ peer_progress: reports, peer_findings: reports });

interface EventAnswer {
  agent_id: string;
  peer_progress: unknown[];
  peer_findings: unknown[];
}

function told({ peer_progress, peer_findings, ...own }: EventAnswer, over: boolean) {
  return {
    agent_id: own.agent_id,
    own,
    peer_context: { peer_progress, peer_findings },
    guidance: over
      ? guidance("reported as over", "End your work: whoever waits for you has been told.")
      : guidance(
          "reported",
          "Go on; heed what your peers found, and report again when something has changed.",
          "update_agent_progress",
          "report_agent_finding",
          "get_communication",
        ),
  };
}

export const updateProgress: Tool = tool({
  name: "update_agent_progress",
  title: "Report progress",
  about:
    "Reports what an agent does now, for people and its peers; the answer tells what the peers reported lately. Report completed or failed once, at the very end: an agent that is silent after it is ended.",
  operation: progress,
  more: {
    agent_id: selfId,
    task_id: taskId,
    status: z.string().min(1).describe("One word: working, blocked, completed, failed, ..."),
    message: z.string().min(1).describe("What it does, in a sentence"),
    progress: z.number().min(0).max(100).describe("How far it has come, in percent").optional(),
  },
  output: { agent_id: z.string(), own_update: z.looseObject({ status: z.string() }), peer_context: PEERS },
  async run(call, _, { agent_id, task_id, status, message, progress: percent }) {
    await assertTask(call, agent_id, task_id);
    const words = [agent_id ?? call.agent, status, message].filter((word) => word !== undefined);
    const { own, ...reply } = told(await call.ask<EventAnswer>(progress, { words, percent }), isTerminal(status));
    return { ...reply, own_update: own };
  },
});

export const reportFinding: Tool = tool({
  name: "report_agent_finding",
  title: "Report a finding",
  about: "Reports something that peers and people should know; the answer tells what the peers reported lately.",
  operation: finding,
  more: {
    agent_id: selfId,
    task_id: taskId,
    finding_type: z.string().min(1).describe("One word: bug, risk, insight, ..."),
    severity: z.enum(["low", "medium", "high", "critical"]).describe("How much it matters"),
    message: z.string().min(1).describe("What was found"),
    data: z.record(z.string(), z.unknown()).describe("Facts for other programs").optional(),
  },
  output: { agent_id: z.string(), own_finding: z.looseObject({ severity: z.string() }), peer_context: PEERS },
  async run(call, _, { agent_id, task_id, finding_type, severity, message, data }) {
    await assertTask(call, agent_id, task_id);
    const words = [agent_id ?? call.agent, finding_type, severity, message].filter((word) => word !== undefined);
    const input = { words, ...(data === undefined ? {} : { data: JSON.stringify(data) }) };
    const { own, ...reply } = told(await call.ask<EventAnswer>(finding, input), false);
    return { ...reply, own_finding: own };
  },
});

export const sendMessage: Tool = tool({
  name: "send_message",
  title: "Send a message to an agent",
  about:
    "Gives an agent a message. One that was deployed with interactive gets it as its next input; for others it is kept for their next resumed run. An agent may write to agents of its own task.",
  operation: send,
  fields: { agent_id: "agent", message: "text" },
  output: {
    agent_id: z.string(),
    message_id: z.string(),
    status: z.enum(["accepted", "injected", "consumed", "failed"]),
    why: z.string().nullable(),
  },
  async run(call, input) {
    const { agent, id, state, why } = await call.ask<Message>(send, input);
    return {
      success: state !== "failed",
      agent_id: agent,
      message_id: id,
      status: state,
      why,
      guidance: guidance(state, "get_agent_output shows what it does with it.", "get_agent_output", "wait_for_agents"),
    };
  },
});

export const logEvent: Tool = tool({
  name: "log_event",
  title: "Log an event",
  about:
    "Appends an event to the journal that all agents share, durably: a question, an answer, a followup, a note. Same interaction number = same conversation; leave it out to begin a new one.",
  operation: event,
  fields: { actor: "actor", type: "type", content: "content", task_id: "task", to: "to" },
  more: {
    interaction: z
      .number()
      .int()
      .min(0)
      .describe("Number of the conversation; a new one when it is left out")
      .optional(),
    data: z.record(z.string(), z.unknown()).describe("Facts for other programs").optional(),
  },
  output: { event: z.looseObject({ id: z.string(), interaction: z.number(), type: z.string() }) },
  async run(call, input, { interaction, data }) {
    const more = data === undefined ? {} : { data: JSON.stringify(data) };
    const stored = await call.ask<JournalEvent>(event, { ...input, interaction: interaction ?? "+", ...more });
    return {
      event: stored,
      guidance: guidance(
        `logged in interaction ${stored.interaction}`,
        "get_communication with that interaction shows the answers.",
        "get_communication",
        "log_event",
      ),
    };
  },
});

export const getCommunication: Tool = tool({
  name: "get_communication",
  title: "Read the journal",
  about: `Reads the journal that all agents share: the last ${MOST} events, or with cursor those behind an earlier answer.`,
  operation: events,
  fields: { interaction: "interaction", type: "type", actor: "actor", since: "since" },
  more: { cursor: z.string().describe("From an earlier answer: only events behind it").optional() },
  output: {
    events: z.array(z.looseObject({ seq: z.number(), interaction: z.number(), type: z.string() })),
    truncated: z.boolean(),
    cursor: z.string().nullable().describe("Give it back to read on from here; null: there is nothing yet"),
  },
  async run(call, input, { cursor }) {
    const { items, truncated } =
      cursor === undefined
        ? await last(call.items<Shown>(events, { lines: MOST, ...input }))
        : await first(call.items<Shown>(events, { after: cursor, ...input }));
    return {
      events: items,
      truncated,
      cursor: items.at(-1)?.cursor ?? cursor ?? null,
      guidance: guidance(
        `${items.length} events`,
        truncated && cursor !== undefined ? "There is more: call again with the cursor." : "Answer with log_event.",
        "log_event",
        "get_communication",
      ),
    };
  },
});
type Shown = JournalEvent & { seq: number; cursor: string };
