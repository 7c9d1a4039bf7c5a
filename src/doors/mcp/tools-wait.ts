/** Waiting for agents without blocking: an answer comes when something changed, and within a time that every client waits for. */

import { z } from "zod";
import { MidwatchError } from "../../core/errors.ts";
import { parseTaskId } from "../../core/ids.ts";
import { isSettled } from "../../core/phase.ts";
import type { ListRecord } from "../../core/types.ts";
import { usage } from "../../operations/operation.ts";
import { ls } from "../../operations/run/ls.ts";
import { wait } from "../../operations/run/wait.ts";
import { first, MOST } from "./bounds.ts";
import { agentReply, agentSchema, guidance } from "./records.ts";
import { type Call, type Tool, tool } from "./tool.ts";

const LONGEST_SECONDS = 45;
const STANDARD_SECONDS = 30;
/** Changes that are no end are looked for this often. */
const LOOK_MS = 1000;

export const waitForAgents: Tool = tool({
  name: "wait_for_agents",
  title: "Wait for agents",
  about: `Waits until one of the agents changes its state (or, with all, until every one has ended), at most ${LONGEST_SECONDS} seconds. Give the cursor of the last answer back to be told of everything that changed since, also between two calls. It is no error when nothing changed: call again.`,
  operation: wait,
  more: {
    agent_ids: z.array(z.string().min(1)).max(MOST).describe("Agent ids or unique prefixes").default([]),
    task_id: z.string().describe("All agents of this task").optional(),
    all: z.boolean().describe("Wait until every one has ended").default(false),
    timeout_seconds: z
      .number()
      .min(0)
      .max(LONGEST_SECONDS)
      .describe(`How long to wait at most (${STANDARD_SECONDS})`)
      .optional(),
    cursor: z.string().describe("From an earlier answer: what changed since then counts").optional(),
  },
  output: {
    changed: z.array(agentSchema).describe("Agents whose state changed"),
    ended: z.array(z.string()),
    running: z.array(z.string()),
    all_ended: z.boolean(),
    timed_out: z.boolean(),
    cursor: z.string(),
  },
  async run(call, _, more) {
    const deadline = performance.now() + (more.timeout_seconds ?? STANDARD_SECONDS) * 1000;
    let records = await look(call, more);
    const before = more.cursor === undefined ? states(records) : readCursor(more.cursor);
    for (let waited = 0; ; waited++) {
      const changed = records.filter((one) => before[one.agent] !== stateOf(one));
      const live = records.filter((one) => !isSettled(one));
      const left = deadline - performance.now();
      const enough = live.length === 0 || (!more.all && changed.length > 0);
      if (enough || left <= 0 || call.signal.aborted) {
        const { items } = await first(changed.map(agentReply));
        return {
          changed: items,
          ended: records.filter(isSettled).map(({ agent }) => agent),
          running: live.map(({ agent }) => agent),
          all_ended: live.length === 0,
          timed_out: !enough,
          cursor: Buffer.from(JSON.stringify(states(records))).toString("base64url"),
          guidance:
            live.length === 0
              ? guidance(
                  "all have ended",
                  "Read what they did: get_agent_output.",
                  "get_agent_output",
                  "get_agent_summary",
                )
              : guidance(
                  `${live.length} of ${records.length} go on`,
                  changed.length > 0
                    ? "Look at what changed, then call wait_for_agents with the cursor."
                    : "Nothing changed yet: call wait_for_agents with the cursor, or do other work first.",
                  "wait_for_agents",
                  "get_agent_summary",
                  "get_agent_output",
                  "kill_real_agent",
                ),
        };
      }
      if (waited % 5 === 4) call.progress(`${live.length} of ${records.length} agents go on`);
      // Returns at once when one of them ends; also gives queued agents their turn.
      const agents = live.map(({ agent }) => agent);
      await call.ask(wait, { agents, any: true, timeout: Math.ceil(Math.min(LOOK_MS, left)) });
      records = await look(call, { ...more, agent_ids: records.map(({ agent }) => agent) });
    }
  },
});

async function look(
  call: Call,
  { agent_ids, task_id }: { agent_ids: string[]; task_id?: string | undefined },
): Promise<ListRecord[]> {
  const task = task_id === undefined ? undefined : parseTaskId(task_id);
  const all = await call.ask<ListRecord[]>(ls, { all: true, task });
  if (agent_ids.length === 0 && task === undefined)
    throw usage("Whom to wait for is missing.", "Give agent_ids or a task_id.");
  if (agent_ids.length === 0) return all;
  return agent_ids.map((id) => {
    const found = all.filter(({ agent }) => agent === id || agent.startsWith(id));
    const exact = found.find(({ agent }) => agent === id) ?? (found.length === 1 ? found[0] : undefined);
    if (exact !== undefined) return exact;
    throw new MidwatchError(
      found.length === 0 ? "NOT_FOUND_AGENT" : "AMBIGUOUS_ID",
      `${JSON.stringify(id)} names ${found.length === 0 ? "no agent" : `${found.length} agents`}.`,
      { hint: "list_agents tells the ids." },
    );
  });
}

function stateOf({ run, phase, outcome, verdict }: ListRecord): string {
  return [run, phase, outcome ?? "", verdict ?? ""].join(".");
}

function states(records: readonly ListRecord[]): Record<string, string> {
  return Object.fromEntries(records.map((one) => [one.agent, stateOf(one)]));
}

function readCursor(text: string): Record<string, string> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(Buffer.from(text, "base64url").toString()));
  } catch (error) {
    throw new MidwatchError("USAGE", "This is not a cursor of wait_for_agents.", {
      hint: "Give back the cursor of an earlier answer as it is, or leave it out.",
      cause: error,
    });
  }
}
