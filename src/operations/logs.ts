import { z } from "zod";
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, parseTaskId } from "../core/ids.ts";
import { maskText, maskValue } from "../core/mask.ts";
import type { Activity, LogItem, LogRecord } from "../fleet.ts";
import { activityText } from "./activity.ts";
import { agentRef, time } from "./fields.ts";
import { workspaceOf } from "./open.ts";
import { type Context, type Operation, operation } from "./operation.ts";

const LINES = 100;

export const logs: Operation = operation<ReturnType<typeof inputOf>, Uint8Array | LogRecord>({
  name: "logs",
  summary: "Read what an agent printed",
  details: `The last ${LINES} lines by default. --raw gives exactly the bytes the agent printed, from the first to the last.`,
  positionals: ["agent"],
  input: inputOf(),
  changes: false,
  examples: [
    "midwatch logs build-1",
    "midwatch logs -f build-1",
    "midwatch logs -f --pretty fix-1",
    "midwatch logs --raw build-1 > copy",
    "midwatch logs --stderr -n 20 build-1",
    "midwatch logs --grep ERROR -n 10 build-1",
    "midwatch logs --task TASK-20261115-190000-1a2b3c4d",
  ],
  run: (context, { agent, task, raw, pretty, since, mask, lines: asked, ...rest }) => {
    const workspace = workspaceOf(context);
    const whole = raw || rest.offset !== undefined || since !== undefined;
    const options = { ...rest, sinceMs: since, lines: asked ?? (whole ? undefined : LINES), signal: context.signal };
    if (task !== undefined) {
      if (agent !== undefined || raw || pretty || rest.follow || rest.run !== undefined) {
        throw new MidwatchError(
          "USAGE",
          "--task merges the logs of a task's agents; it goes with -n, --grep, --since and --stderr only.",
          {
            hint: "Leave out the agent, --raw, --pretty, --follow and --run.",
          },
        );
      }
      return taskLines(context, workspace.logTask(parseTaskId(task), options), options.lines, mask);
    }
    if (pretty && (raw || context.json))
      throw new MidwatchError("USAGE", "--pretty is for people: it goes without --raw and --json.", {
        hint: "Leave one of them out.",
      });
    if (pretty) return prettyLines(workspace.activities(agent, options), mask);
    if (raw) return workspace.logBytes(agent, options);
    return context.json
      ? recordsOf(workspace.logRecords(agent, options), mask)
      : linesOf(workspace.log(agent, options), mask);
  },
});

/** The lines as they are; an unfinished one gets no newline. */
async function* linesOf(items: AsyncIterable<LogItem>, mask: boolean): AsyncGenerator<Uint8Array> {
  for await (const { raw } of items)
    yield Buffer.concat(raw.whole ? [shown(raw.bytes, mask), NEWLINE] : [shown(raw.bytes, mask)]);
}

/** What was said and done, without what only programs want to know. */
export async function* prettyLines(activities: AsyncIterable<Activity>, mask: boolean): AsyncGenerator<Uint8Array> {
  for await (const activity of activities) {
    const text = activityText(activity);
    if (text !== undefined) yield Buffer.from(`${mask ? maskText(text) : text}\n`);
  }
}

async function* recordsOf(records: AsyncIterable<LogRecord>, mask: boolean): AsyncGenerator<LogRecord> {
  for await (const record of records) yield mask ? (maskValue(record) as LogRecord) : record;
}

/** A line that has nothing to hide stays byte for byte as it is, also when it is not UTF-8. */
function shown(bytes: Buffer, mask: boolean): Buffer {
  if (!mask) return bytes;
  const text = bytes.toString("latin1");
  const masked = maskText(text);
  return masked === text ? bytes : Buffer.from(masked, "latin1");
}
const NEWLINE = Buffer.from("\n");

/** Lines of several agents, each with its name; the last N of all. */
async function* taskLines(
  context: Context,
  items: AsyncIterable<LogItem & { agent: AgentId }>,
  most: number | undefined,
  mask: boolean,
): AsyncGenerator<Uint8Array | LogRecord> {
  const last: (Uint8Array | LogRecord)[] = [];
  for await (const { agent, run, record, raw } of items) {
    if (!context.json) last.push(Buffer.concat([Buffer.from(`${agent}  `), shown(raw.bytes, mask), NEWLINE]));
    else if (record !== undefined) last.push(withAgent(agent, run, mask ? (maskValue(record) as LogRecord) : record));
    if (most === undefined) yield* last.splice(0);
    else if (last.length > most) last.shift();
  }
  yield* last;
}

function withAgent(agent: AgentId, run: number, record: LogRecord): LogRecord & { agent: AgentId; run: number } {
  return { agent, run, ...record };
}

function inputOf() {
  const count = (about: string) => z.coerce.number().int().min(0).max(1e15).describe(about).meta({ value: "N" });
  return z.strictObject({
    agent: agentRef().optional(),
    task: z.string().describe("All agents of a task, merged by time").meta({ value: "TASK" }).optional(),
    lines: count(`The last N lines (${LINES})`).meta({ short: "n", value: "N" }).optional(),
    follow: z.boolean().describe("Go on printing until the run has ended").meta({ short: "f" }).default(false),
    offset: count("Begin behind this many lines").optional(),
    limit: count("With --offset: at most this many lines").optional(),
    grep: z
      .string()
      .describe("Only lines that match; filters before it counts the last N")
      .meta({ value: "REGEX" })
      .optional(),
    since: time("Only lines printed since then: 10m, or 2026-11-15T19:00:00Z").optional(),
    raw: z.boolean().describe("The bytes as the agent printed them, all of them").default(false),
    pretty: z.boolean().describe("What it said and did, as its driver reads the lines").default(false),
    mask: z.boolean().describe("Hide what looks like a secret; --raw never does").default(true),
    stderr: z.boolean().describe("What it printed to stderr").default(false),
    run: z.coerce.number().int().min(1).max(1e9).describe("An earlier run").meta({ value: "N" }).optional(),
  });
}
