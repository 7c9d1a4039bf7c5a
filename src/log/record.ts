import { isFields, LINE_DEPTH, parseWithin } from "../core/json.ts";
import type { Line } from "./lines.ts";
import { isBlank } from "./scanner.ts";

/** A line of a log as a record (docs/formats.md): JSON where it is JSON, text where it is UTF-8, base64 otherwise. Nothing throws. */
export interface LogRecord {
  /** Counts lines from 1, empty ones too; null in a large file without an index, where nobody has counted. */
  seq: number | null;
  offset: number;
  timestamp?: string | null;
  type: "stdout" | "stderr" | "lifecycle" | "line" | "parse_error";
  data?: unknown;
  text?: string;
  b64?: string;
  partial?: true;
  truncated?: true;
  line_number?: number | null;
  raw_content?: string;
  error?: string;
}

export interface RecordOptions {
  type: "stdout" | "stderr" | "line";
  /** Every line should be JSON: one that is not becomes a parse_error. */
  json: boolean;
}

const RAW_MAX = 200;
const utf8 = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder("utf-8");

/** Undefined for an empty line. */
export function toRecord(
  line: Line,
  seq: number | null,
  timeMs: number,
  options: RecordOptions,
): LogRecord | undefined {
  if (isBlank(line.bytes)) return undefined;
  const base = {
    seq,
    offset: line.offset,
    timestamp: timeMs > 0 ? new Date(timeMs).toISOString() : null,
    type: options.type,
  };
  const flags = {
    ...(line.whole ? {} : { partial: true as const }),
    ...(line.truncated ? { truncated: true as const } : {}),
  };
  let text: string | undefined;
  let error: string;
  try {
    text = utf8.decode(line.bytes);
    const data: unknown = parseWithin(text, LINE_DEPTH);
    const fields = isFields(data) ? data : {};
    const lifecycle = options.type === "stdout" && fields["type"] === "lifecycle" && line.offset === 0;
    return {
      ...base,
      timestamp: ownTime(fields["timestamp"]) ?? base.timestamp,
      ...(lifecycle ? { type: "lifecycle" } : {}),
      data,
      ...flags,
    };
  } catch (thrown) {
    error = text === undefined ? "not valid UTF-8" : (thrown as Error).message;
  }
  if (options.json && !line.truncated) {
    return {
      seq,
      offset: line.offset,
      type: "parse_error",
      line_number: seq,
      raw_content: firstCodePoints(line.bytes),
      error,
      ...flags,
    };
  }
  if (line.truncated) text ??= lenient.decode(line.bytes);
  return text === undefined ? { ...base, b64: line.bytes.toString("base64"), ...flags } : { ...base, text, ...flags };
}

function firstCodePoints(bytes: Buffer): string {
  return [...lenient.decode(bytes.subarray(0, RAW_MAX * 4))].slice(0, RAW_MAX).join("");
}

/** A line may carry its own time: RFC 3339, or a number of milliseconds. */
function ownTime(value: unknown): string | undefined {
  const isTime =
    typeof value === "number" || (typeof value === "string" && /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/.test(value));
  const time = new Date(isTime ? value : Number.NaN);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}
