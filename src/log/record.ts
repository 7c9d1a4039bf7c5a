/** A line of a log as a record: JSON where it is JSON, text where it is UTF-8, base64 otherwise. Nothing here throws. */
export interface LogRecord {
  /** Counts lines from 1, empty ones too. */
  seq: number;
  offset: number;
  timestamp: string | null;
  type: "stdout" | "stderr" | "lifecycle";
  data?: unknown;
  text?: string;
  b64?: string;
  partial?: true;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** `line` without its newline; undefined for an empty line, which gives no record. */
export function toRecord(
  line: Uint8Array,
  seq: number,
  offset: number,
  type: "stdout" | "stderr",
): LogRecord | undefined {
  if (line.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(line);
  } catch {
    return { seq, offset, timestamp: null, type, b64: Buffer.from(line).toString("base64") };
  }
  try {
    const data: unknown = JSON.parse(text);
    const marker = isObject(data) && data["type"] === "lifecycle";
    return { seq, offset, timestamp: ownTime(data), type: marker ? "lifecycle" : type, data };
  } catch {
    return { seq, offset, timestamp: null, type, text };
  }
}

/** A line may carry its own time: RFC 3339, or a number of milliseconds. */
function ownTime(data: unknown): string | null {
  const value = isObject(data) ? data["timestamp"] : undefined;
  if (typeof value !== "string" && typeof value !== "number") return null;
  const time = new Date(value);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
