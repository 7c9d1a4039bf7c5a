import { statSync } from "node:fs";
import { resolve } from "node:path";
import { MidwatchError } from "../../core/errors.ts";
import { jsonlCount, jsonlPage, jsonlTail, jsonlVerify, type Read } from "../../log/jsonl/jsonl.ts";
import { assertOutside, jsonlAppend, recordLine } from "../../log/jsonl/writer.ts";
import { LINE_MAX } from "../../log/lines.ts";
import { agentRef, bytesDone, count, runNumber } from "../fields.ts";
import { type Context, type Operation, operation, usage, workspaceOf, z } from "../operation.ts";

const file = z.string().min(1).describe("A JSONL file, or a log that midwatch archived (.zst)").meta({ value: "FILE" });

const unfinished = z
  .boolean()
  .describe(
    "With --json, the last line also when it has no newline and is no whole object: a writer may be at work on it",
  )
  .default(false);

/** People see all bytes that are there, as with tail(1). */
const readingOf = (context: Context, input: { unfinished: boolean }) => ({
  settled: context.json && !input.unfinished,
});

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
  input: z.strictObject({
    file,
    lines: count("How many lines").meta({ short: "n", value: "N" }).default(100),
    unfinished,
  }),
  changes: false,
  examples: ["midwatch jsonl tail -n 20 session.jsonl", "midwatch jsonl tail --json big.jsonl | jq .data.type"],
  run: (context, input) =>
    streamed(
      shown(
        context,
        jsonlTail(resolve(context.cwd, input.file), input.lines, {
          records: context.json,
          ...readingOf(context, input),
        }),
      ),
    ),
});

const page = operation({
  name: "jsonl page",
  summary: "Lines of any JSONL file by number",
  positionals: ["file"],
  input: z.strictObject({
    file,
    offset: count("Begin behind this many lines").default(0),
    limit: count("At most this many lines").default(100),
    unfinished,
  }),
  changes: false,
  examples: ["midwatch jsonl page --offset 5000000 --limit 50 big.jsonl"],
  run: (context, input) =>
    streamed(
      shown(context, jsonlPage(resolve(context.cwd, input.file), input.offset, input.limit, readingOf(context, input))),
    ),
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

const appended = operation({
  name: "jsonl append",
  summary: "Append records to any JSONL file, whole and durable, beside other writers",
  details:
    "A record is a JSON object; with `-`, each line of the standard input is one. One without a `timestamp` gets it. What was read is on the disk before more is. A line that is no JSON object ends it; the ones before it were appended.",
  positionals: ["file", "record"],
  input: z.strictObject({
    file: z
      .string()
      .min(1)
      .describe("A JSONL file outside of every workspace; made when it is not there")
      .meta({ value: "FILE" }),
    record: z.string().describe("One record, or `-`: those on the standard input").meta({ value: "JSON" }),
  }),
  changes: true,
  examples: [
    `midwatch jsonl append build.jsonl '{"step":"test","ok":true}'`,
    "tail -f app.jsonl | midwatch jsonl append copy.jsonl -",
  ],
  async run(context, input) {
    const path = resolve(context.cwd, input.file);
    assertOutside(path);
    const given = input.record === "-" ? wholeLines(context) : [[input.record]];
    let records = 0;
    for await (const texts of given) {
      records = appendSome(path, texts, records);
      if (context.signal.aborted) break;
    }
    return { path, records, bytes: statSync(path, { throwIfNoEntry: false })?.size ?? 0 };
  },
  render: ({ records, path, bytes }) =>
    `Appended ${records} ${records === 1 ? "record" : "records"} to ${path} (${bytes} bytes).`,
});

/** Those before the first bad one are appended. */
function appendSome(path: string, texts: readonly string[], before: number): number {
  const lines: string[] = [];
  let wrong: unknown;
  try {
    for (const text of texts) lines.push(recordLine(text));
  } catch (error) {
    wrong = error;
  }
  jsonlAppend(path, lines);
  const done = before + lines.length;
  if (wrong instanceof MidwatchError)
    throw usage(`Record ${done + 1}: ${wrong.message} ${done} were appended.`, wrong.hint ?? "");
  if (wrong !== undefined) throw wrong;
  return done;
}

/** Lines of the standard input that are there, again and again. */
async function* wholeLines(context: Context): AsyncGenerator<string[]> {
  if (context.door !== "cli") throw usage("The standard input belongs to the command line.", "Send the record itself.");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  const lines = (text: string): string[] => text.split("\n").filter((line) => line.trim() !== "");
  try {
    for await (const part of process.stdin) {
      rest += decoder.decode(part as Buffer, { stream: true });
      const end = rest.lastIndexOf("\n") + 1;
      if (end === 0 && rest.length > LINE_MAX) throw usage("A line is longer than 16 MiB.", "Split it.");
      yield lines(rest.slice(0, end));
      rest = rest.slice(end);
    }
    yield lines(rest + decoder.decode());
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usage("The standard input is not UTF-8 text.", "Convert it first: iconv -t UTF-8");
  }
}

export const jsonl: readonly Operation[] = [tail, page, counted, verified, appended];

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
