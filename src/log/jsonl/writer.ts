/** Records to a JSONL file that the caller names, ours or not: each append is durable when it returns, and whole or not there. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { MidwatchError } from "../../core/errors.ts";
import { quote } from "../../core/ids.ts";
import { assertFlat, isFields, LINE_DEPTH, parseWithin } from "../../core/json.ts";
import { iso } from "../../core/time.ts";
import { appendLines } from "../../disk/append.ts";
import { workspaceAround } from "../../disk/workspace.ts";
import { LINE_MAX } from "../lines.ts";

/** Writes to one JSONL file, by itself or beside other processes that do the same. It holds nothing: no file is open between two calls. */
export class JSONLWriter {
  /** As it was given, made absolute: a link at it is followed anew each time. */
  readonly path: string;

  /** The file and its folder are made with the first record. */
  constructor(path: string) {
    this.path = resolve(path);
  }

  /**
   * Appends records, each as one line; one without a `timestamp` gets it. They are on the disk when it returns. Throws DISK_FULL, NOT_WRITABLE,
   * USAGE: then nothing torn is left, and of several records the first may be there.
   */
  append(...records: readonly object[]): void {
    jsonlAppend(
      this.path,
      records.map((record) => recordLine(textOf(record))),
    );
  }
}

/** Lines as `recordLine` gives them. */
export function jsonlAppend(path: string, lines: readonly string[]): void {
  if (lines.length > 0) appendLines(targetOf(path), Buffer.from(lines.join("")), { sync: true });
}

/** What midwatch keeps is written by midwatch: a line of somebody else's in a log or the journal would pass for an agent's. */
export function assertOutside(path: string): void {
  if (path.includes("\0"))
    throw new MidwatchError("BAD_PATH", `${quote(path)} is no name of a file.`, { hint: "Name a JSONL file." });
  const root = workspaceAround(path);
  if (root === undefined) return;
  throw new MidwatchError("UNSAFE_PATH", `${path} is in the workspace ${root}.`, {
    hint: "Name a file outside; `midwatch event` writes to the journal.",
  });
}

function textOf(record: object): string {
  assertFlat(record);
  try {
    return JSON.stringify(record);
  } catch (error) {
    throw noRecord(error instanceof Error ? error.message : String(error), error);
  }
}

/** The line of a record that is JSON text already, which stays as it is. Throws USAGE. */
export function recordLine(text: string): string {
  let record: unknown;
  try {
    record = parseWithin(text, LINE_DEPTH);
  } catch (error) {
    throw noRecord((error as Error).message, error);
  }
  if (!isFields(record)) throw noRecord("it is JSON, and no object");
  const line = "timestamp" in record ? text : withTimestamp(text, Object.keys(record).length === 0);
  // Of JSON only blanks between its parts can be line ends.
  const whole = `${line.replaceAll(/[\r\n]+/g, " ")}\n`;
  if (Buffer.byteLength(whole) > LINE_MAX)
    throw noRecord(`it is longer than ${LINE_MAX} bytes, more than readers hold`);
  return whole;
}

/** Into the text: parsed and written again, a number of many digits would be another one. */
function withTimestamp(text: string, empty: boolean): string {
  return `${text.slice(0, text.lastIndexOf("}"))}${empty ? "" : ","}"timestamp":"${iso()}"}`;
}

function noRecord(why: string, cause?: unknown): MidwatchError {
  return new MidwatchError("USAGE", `This is no record: ${why}.`, {
    hint: 'A record is a JSON object, such as {"type":"progress","message":"half done"}.',
    cause,
  });
}

/** A person named it: what the name leads to is meant. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // Not there yet; whatever else is wrong with it the writer says.
  }
}
