import { readSync } from "node:fs";
import { MidwatchError } from "../../core/errors.ts";
import { parseAgentId, parseTaskId } from "../../core/ids.ts";
import type { JournalEvent } from "../../fleet/workspace.ts";
import { agentRef, parseData, plain } from "../fields.ts";
import { type Operation, operation, usage, workspaceOf, z } from "../operation.ts";

/** More is refused by the journal; reading stops a little behind it. */
const STDIN_MAX = (1 << 20) + 1;

const input = z.strictObject({
  interaction: z
    .union([z.string(), z.number()])
    .transform(
      plain((value: string | number) => {
        if (value === "+") return "+" as const;
        const n = typeof value === "number" || /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
        if (Number.isSafeInteger(n) && n >= 0) return n;
        throw new MidwatchError("BAD_NUMBER", `${JSON.stringify(value)} is not a whole number from 0 up, or +.`);
      }),
    )
    .describe("Number of the conversation, or + for the next free one")
    .meta({ value: "INTERACTION|+" })
    .optional(),
  actor: z.string().describe("Who says it; inside a run it is that run's agent").optional(),
  type: z.string().describe("What it is: question, answer, followup, heartbeat, error, or a word of yours").optional(),
  content: z.string().describe("What is said; - reads it from the input, at most 1 MiB").optional(),
  task: z.string().describe("Task it belongs to; inside a run it is that run's").meta({ value: "TASK" }).optional(),
  agent: agentRef("Agent it belongs to; inside a run it is that run's").optional(),
  to: z.array(z.string()).describe("Whom it is for; may be given again").meta({ value: "NAME" }).default([]),
  data: z.string().describe("Facts for other programs, as JSON").meta({ value: "JSON" }).optional(),
  init_scripts: z
    .boolean()
    .describe(
      "Put scripts/log_event.sh and scripts/generate_snapshot.sh into the project, for agents with a plain shell",
    )
    .default(false),
});

type Data = JournalEvent | { scripts: string[] };

export const event: Operation = operation<typeof input, Data>({
  name: "event",
  summary: "Append an event to the journal that all agents share",
  details:
    "One line of JSON in events.log, on stable storage when the command returns. Types that only midwatch writes (leader_election, agent.*, verdict.* and the like) are refused. Inside a run its agent is the actor, and the task is its own.",
  positionals: ["interaction", "actor", "type", "content"],
  input,
  changes: true,
  examples: [
    'midwatch event 1 "Agent A" question "How do I start the MCP server?"',
    'midwatch event + "Agent B" note "a new conversation" --to "Agent A"',
    'git diff | midwatch event 1 "Agent B" answer -',
    "midwatch event --init-scripts",
  ],
  run: async (context, given): Promise<Data> => {
    const { interaction, actor, type, content, to } = given;
    if (given.init_scripts) return { scripts: workspaceOf(context, { make: true }).journal.initScripts() };
    if (interaction === undefined || actor === undefined || type === undefined || content === undefined)
      throw usage(
        "An event needs INTERACTION, ACTOR, TYPE and CONTENT.",
        'midwatch event 1 "Agent A" question "What now?"',
      );
    const body = {
      actor,
      type,
      content: content === "-" && context.door === "cli" ? readInput() : content,
      task: given.task === undefined ? undefined : parseTaskId(given.task),
      agent: given.agent === undefined ? undefined : parseAgentId(given.agent),
      to: to.length > 1 ? to : to[0],
      data: parseData(given.data),
    };
    using workspace = workspaceOf(context, { make: true });
    return await workspace.journal.append({ interaction, ...body });
  },
  render: (data) => (isScripts(data) ? data.scripts.join("\n") : `#${data.interaction}  ${data.type}  ${data.id}`),
  next: (data) => ("scripts" in data ? './scripts/log_event.sh 1 "Agent A" question "What now?"' : "midwatch snapshot"),
});

function isScripts(data: Data): data is { scripts: string[] } {
  return !("id" in data);
}

function readInput(): string {
  const bytes = Buffer.allocUnsafe(STDIN_MAX);
  let length = 0;
  while (length < STDIN_MAX) {
    let n: number;
    try {
      n = readSync(0, bytes, length, STDIN_MAX - length, null);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "EOF") break;
      if (code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10); // Somebody made the terminal non-blocking.
      continue;
    }
    if (n === 0) break;
    length += n;
  }
  return bytes.toString("utf8", 0, length);
}
