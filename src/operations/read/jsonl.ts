import { resolve } from "node:path";
import { jsonlCount, jsonlPage, jsonlTail, jsonlVerify, type Read } from "../../log/jsonl.ts";
import { agentRef, bytesDone, count, runNumber } from "../fields.ts";
import { type Context, type Operation, operation, workspaceOf, z } from "../operation.ts";

const file = z.string().min(1).describe("A JSONL file, or a log that midwatch archived (.zst)").meta({ value: "FILE" });

/** Records for programs, the lines themselves for people. */
function* shown(context: Context, items: Iterable<Read>): Generator<unknown> {
  for (const { record, raw } of items) {
    if (context.signal.aborted) return;
    if (!context.json) yield Buffer.concat(raw.whole ? [raw.bytes, NEWLINE] : [raw.bytes]);
    else if (record !== undefined) yield record;
  }
}
const NEWLINE = Buffer.from("\n");

async function* streamed<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

const tail = operation({
  name: "jsonl tail",
  summary: "The last lines of any JSONL file, exactly as many as asked for",
  details: "With --json as many records: a blank line gives none, and does not count.",
  positionals: ["file"],
  input: z.strictObject({ file, lines: count("How many lines").meta({ short: "n", value: "N" }).default(100) }),
  changes: false,
  examples: ["midwatch jsonl tail -n 20 session.jsonl", "midwatch jsonl tail --json big.jsonl | jq .data.type"],
  run: (context, input) =>
    streamed(shown(context, jsonlTail(resolve(context.cwd, input.file), input.lines, context.json))),
});

const page = operation({
  name: "jsonl page",
  summary: "Lines of any JSONL file by number",
  positionals: ["file"],
  input: z.strictObject({
    file,
    offset: count("Begin behind this many lines").default(0),
    limit: count("At most this many lines").default(100),
  }),
  changes: false,
  examples: ["midwatch jsonl page --offset 5000000 --limit 50 big.jsonl"],
  run: (context, input) =>
    streamed(shown(context, jsonlPage(resolve(context.cwd, input.file), input.offset, input.limit))),
});

const counted = operation({
  name: "jsonl count",
  summary: "Count the lines and records of any JSONL file",
  positionals: ["file"],
  input: z.strictObject({ file }),
  changes: false,
  examples: ["midwatch jsonl count big.jsonl"],
  run: (context, input) => jsonlCount(resolve(context.cwd, input.file), bytesDone(context)),
  render: ({ lines, records, bytes, partial }) =>
    `${lines} lines, ${records} records, ${bytes} bytes${partial ? ", the last line is unfinished" : ""}`,
});

const verified = operation({
  name: "jsonl verify",
  summary: "Check every line of any JSONL file",
  positionals: ["file"],
  input: z.strictObject({ file }),
  changes: false,
  examples: ["midwatch jsonl verify big.jsonl"],
  run: (context, input) => jsonlVerify(resolve(context.cwd, input.file), bytesDone(context)),
  render: renderVerified,
  exitCode: ({ ok }) => (ok ? 0 : 1),
});

function renderVerified({
  ok,
  lines,
  bytes,
  bad,
  bad_count,
  partial,
  index,
}: Awaited<ReturnType<typeof jsonlVerify>>): string {
  const parts = [
    `${ok ? "Sound" : "NOT sound"}: ${lines} lines, ${bytes} bytes, ${bad_count} bad, index ${index}${partial ? ", the last line is unfinished" : ""}.`,
  ];
  for (const { line_number, offset, error } of bad.slice(0, 10))
    parts.push(`  line ${line_number} (byte ${offset}): ${error}`);
  if (bad_count > 10) parts.push(`  ... and ${bad_count - 10} more`);
  return parts.join("\n");
}

export const jsonl: readonly Operation[] = [tail, page, counted, verified];

export const verify: Operation = operation({
  name: "verify",
  summary: "Check a log: every line, its unfinished end, its index against the bytes, and the facts of its run",
  positionals: ["agent"],
  input: z.strictObject({
    agent: agentRef().optional(),
    run: runNumber,
  }),
  changes: false,
  examples: ["midwatch verify build-1", "midwatch verify --run 1 build-1"],
  run: (context, { agent, run }) => workspaceOf(context).logs.verify(agent, { run, progress: bytesDone(context) }),
  render: (found) => [renderVerified(found), ...found.damaged.map((fact) => `  damaged: ${fact}`)].join("\n"),
  exitCode: ({ ok }) => (ok ? 0 : 1),
});
