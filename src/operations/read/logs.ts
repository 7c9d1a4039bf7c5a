import { MidwatchError } from "../../core/errors.ts";
import { type AgentId, parseTaskId } from "../../core/ids.ts";
import { formatSize } from "../../core/size.ts";
import type { Activity, LogItem, LogRecord, Workspace } from "../../fleet/workspace.ts";
import { longLine } from "../../stream/long-line.ts";
import type { Maskers } from "../../stream/maskers.ts";
import { activityText } from "../activity.ts";
import { agentRef, count, runNumber, time } from "../fields.ts";
import { type Context, type Operation, operation, usage, workspaceOf, z } from "../operation.ts";

const LINES = 100;

const input = z.strictObject({
  agent: agentRef().optional(),
  task: z.string().describe("All agents of a task, merged by time").meta({ value: "TASK" }).optional(),
  lines: count(`The last N lines (${LINES})`).meta({ short: "n", value: "N" }).optional(),
  follow: z.boolean().describe("Go on printing until the run has ended").meta({ short: "f" }).default(false),
  forever: z
    .boolean()
    .describe("Go on through restarts too, until Ctrl-C (not with --raw)")
    .meta({ short: "F" })
    .default(false),
  offset: count("Begin behind this many lines").optional(),
  limit: count("At most this many lines, from --offset or the first on").optional(),
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
  run: runNumber,
});

export const logs: Operation = operation<typeof input, Uint8Array | LogRecord>({
  name: "logs",
  summary: "Read what an agent printed",
  details: `The last ${LINES} lines by default; with --json as many records, a blank line gives none. --raw gives exactly the bytes the agent printed, from the first to the last; without it a terminal gets nothing that it would obey but plain colours. Secrets are hidden: what has the shape of a key, and the values of variables such as API_TOKEN in the run's environment.`,
  positionals: ["agent"],
  input,
  changes: false,
  examples: [
    "midwatch logs build-1",
    "midwatch logs -f build-1",
    "midwatch logs -F build-1",
    "midwatch logs -f --pretty fix-1",
    "midwatch logs --raw build-1 > copy",
    "midwatch logs --stderr -n 20 build-1",
    "midwatch logs --grep ERROR -n 10 build-1",
    "midwatch logs --task TASK-20261115-190000-1a2b3c4d",
  ],
  run: (context, { agent, task, raw, pretty, since, mask, lines: asked, ...rest }) => {
    if (context.door !== "cli" && (raw || !mask))
      throw new MidwatchError("REFUSED_RIGHT", "Only the command line shows a log without hiding secrets.", {
        hint: "Leave out raw and mask.",
      });
    const workspace = workspaceOf(context);
    const hide = mask ? workspace.logs.maskers() : undefined;
    const offset = rest.offset ?? (rest.limit === undefined ? undefined : 0);
    const whole = raw || offset !== undefined || since !== undefined;
    const lines = asked ?? (whole ? undefined : LINES);
    const options = { ...rest, offset, sinceMs: since, lines, records: context.json, signal: context.signal };
    if (task !== undefined) {
      if (agent !== undefined || raw || pretty || rest.follow || rest.forever || rest.run !== undefined) {
        throw usage(
          "--task merges the logs of a task's agents; it goes with -n, --grep, --since and --stderr only.",
          "Leave out the agent, --raw, --pretty, --follow and --run.",
        );
      }
      return taskLines(context, workspace.logs.ofTask(parseTaskId(task), options), options.lines, hide);
    }
    if (pretty && (raw || context.json))
      throw usage("--pretty is for people: it goes without --raw and --json.", "Leave one of them out.");
    if (raw && (context.json || offset !== undefined || since !== undefined || rest.grep !== undefined))
      throw usage(
        "--raw gives bytes, not lines: it goes without --json, --grep, --since, --offset and --limit.",
        "Leave --raw out, or the others.",
      );
    if (raw && rest.forever)
      throw usage("--raw gives the bytes of one run; --forever goes through several.", "Use -f with --raw.");
    if (pretty) return prettyLines(workspace.logs.activities(agent, options, hide));
    if (raw) return workspace.logs.bytes(agent, options);
    const all = offset === undefined && since === undefined && rest.grep === undefined && lines !== 0;
    const found = workspace.logs.read(agent, options);
    const items =
      context.door === "cli" && all && !rest.stderr
        ? noted(context, workspace, found, { agent, run: rest.run })
        : found;
    return context.json ? recordsOf(context, items, hide) : linesOf(context, items, hide);
  },
});

/** Says so when there is nothing to show, and where else to look: an agent that cannot start tells it on stderr. */
async function* noted(
  context: Context,
  workspace: Workspace,
  items: AsyncIterable<LogItem>,
  of: { agent: string | undefined; run: number | undefined },
): AsyncGenerator<LogItem> {
  let printed = false;
  for await (const item of items) {
    printed ||= item.record?.type !== "lifecycle";
    yield item;
  }
  if (printed || context.signal.aborted) return;
  const agent = workspace.runs.resolve(of.agent);
  const errors = workspace.logs.read(agent, { stderr: true, run: of.run, lines: 1 });
  const { done } = await errors.next();
  await errors.return(undefined);
  const run = of.run === undefined ? "" : ` --run ${of.run}`;
  context.notice(
    done
      ? `${agent} has no output here (midwatch show ${agent} tells its state)`
      : `${agent} has no output here; it wrote to stderr: midwatch logs --stderr${run} ${agent}`,
  );
}

/** Undefined: nothing is hidden. */
type Hide = Maskers | undefined;

/** The lines as they are; an unfinished one gets no newline. */
async function* linesOf(context: Context, items: AsyncIterable<LogItem>, hide: Hide): AsyncGenerator<Uint8Array> {
  for await (const item of items) {
    if (item.raw.truncated) {
      const all = yield* longLine(item, hide?.of(item.agent, item.run));
      if (!all) sayCut(context, item);
      if (item.raw.whole) yield NEWLINE;
      continue;
    }
    const bytes = hide?.line(item) ?? item.raw.bytes;
    yield Buffer.concat(item.raw.whole ? [bytes, NEWLINE] : [bytes]);
  }
  tell(context, hide?.count ?? 0);
}

function sayCut(context: Context, { agent, run, raw }: LogItem): void {
  const size = formatSize(raw.end - raw.offset);
  context.notice(`a line of ${size} is cut; all of it: midwatch logs --raw --run ${run} ${agent}`);
}

/** What was said and done, without what only programs want to know. */
export async function* prettyLines(activities: AsyncIterable<Activity>): AsyncGenerator<Uint8Array> {
  for await (const activity of activities) {
    const text = activityText(activity);
    if (text !== undefined) yield Buffer.from(`${text}\n`);
  }
}

async function* recordsOf(context: Context, items: AsyncIterable<LogItem>, hide: Hide): AsyncGenerator<LogRecord> {
  for await (const item of items) {
    const record = hide === undefined ? item.record : hide.record(item);
    if (record !== undefined) yield record;
  }
  tell(context, hide?.count ?? 0);
}

function tell(context: Context, count: number): void {
  if (count > 0) context.notice(`${count} ${count === 1 ? "secret" : "secrets"} masked (--no-mask shows them)`);
}
const NEWLINE = Buffer.from("\n");

/** Lines of several agents, each with its name; the last N of all. */
async function* taskLines(
  context: Context,
  items: AsyncIterable<LogItem>,
  most: number | undefined,
  hide: Hide,
): AsyncGenerator<Uint8Array | LogRecord> {
  const last: { shown: Uint8Array | LogRecord; masked: number }[] = [];
  let masked = 0;
  for await (const item of items) {
    if (context.json && item.record === undefined) continue;
    if (item.raw.truncated && !context.json) sayCut(context, item);
    // Made at once: the bytes of a line, and the log that it stands in, are there until the next one is asked for.
    const before = hide?.count ?? 0;
    const shown = context.json ? taskRecord(item, hide) : taskLine(item, hide);
    if (shown === undefined) continue;
    last.push({ shown, masked: (hide?.count ?? 0) - before });
    if (most !== undefined && last.length > most) last.shift();
    if (most !== undefined) continue;
    masked += last[0]?.masked ?? 0;
    yield (last.pop() as (typeof last)[0]).shown;
  }
  for (const one of last) {
    masked += one.masked;
    yield one.shown;
  }
  tell(context, masked);
}

function taskLine(item: LogItem, hide: Hide): Uint8Array {
  return Buffer.concat([Buffer.from(`${item.agent}  `), hide?.line(item) ?? item.raw.bytes, NEWLINE]);
}

function taskRecord(item: LogItem, hide: Hide): LogRecord | undefined {
  const record = hide === undefined ? item.record : hide.record(item);
  return record && withAgent(item.agent, item.run, record);
}

function withAgent(agent: AgentId, run: number, record: LogRecord): LogRecord & { agent: AgentId; run: number } {
  return { agent, run, ...record };
}
