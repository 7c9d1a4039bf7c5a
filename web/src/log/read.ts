/**
 * A record of a log as something to look at. What a line of an agent CLI means is told by its driver, the same that the watch
 * reads with. Long texts are cut here: the page keeps what it shows, and asks again for the rest.
 */
import { claudeReader } from "../../../src/drivers/claude.ts";
import { codexReader } from "../../../src/drivers/codex.ts";
import type { Activity, StreamReader } from "../../../src/drivers/driver.ts";
import { geminiReader } from "../../../src/drivers/gemini.ts";
import { opencodeReader } from "../../../src/drivers/opencode.ts";
import type { LogRecord } from "../../../src/log/record.ts";
import { strip } from "./ansi.ts";

const READERS: Readonly<Record<string, () => StreamReader>> = {
  claude: claudeReader,
  codex: codexReader,
  gemini: geminiReader,
  opencode: opencodeReader,
};
/** The agent CLIs that the page knows. */
export const CLIS: readonly string[] = Object.keys(READERS);

/** What one row shows at most; the whole line is a click away. */
const CUT = 6000;

export type Block =
  | { kind: "text"; text: string }
  | { kind: "said" | "thought" | "note" | "trouble" | "json" | "binary"; text: string }
  | { kind: "tool"; name: string; brief: string; detail: string; edit: Edit | null }
  | { kind: "result"; ok: boolean; text: string }
  | { kind: "finished"; ok: boolean; text: string };

export interface Edit {
  before: string;
  after: string;
}

export interface Row {
  seq: number;
  time: string | null;
  stream: LogRecord["type"];
  blocks: Block[];
  /** Something of the line is not shown. */
  cut: boolean;
}

/** Makes rows of records that follow each other: some CLIs tell a call by two lines, which belong together. */
export function rowReader(driver: string): (record: LogRecord, seq: number) => Row {
  const reader = READERS[driver]?.();
  return (record, seq) => {
    const row: Row = {
      seq,
      time: record.timestamp ?? null,
      stream: record.type,
      blocks: [],
      cut: record.truncated === true,
    };
    const short = (text: string): string => {
      if (text.length <= CUT) return text;
      row.cut = true;
      return `${text.slice(0, CUT)}…`;
    };
    row.blocks = blocksOf(record, reader, short);
    return row;
  };
}

type Short = (text: string) => string;

function blocksOf(record: LogRecord, reader: StreamReader | undefined, short: Short): Block[] {
  if (record.b64 !== undefined) {
    const size = Math.floor(record.b64.length * 0.75);
    return [{ kind: "binary", text: `${size} bytes that are not text` }];
  }
  if (record.type === "parse_error") return [{ kind: "text", text: short(record.raw_content ?? "") }];
  if (record.text !== undefined) return [{ kind: "text", text: short(record.text) }];
  if (record.type === "lifecycle") return [{ kind: "note", text: lifecycle(record.data) }];
  if (reader === undefined || typeof record.data !== "object") return [plain(record.data, short)];
  return reader
    .read(record.data)
    .map((activity) => blockOf(activity, short))
    .filter((block) => block !== undefined);
}

function lifecycle(data: unknown): string {
  const { event, run } = data as { event?: string; run?: number };
  return event === "agent_restart" ? `run ${run} begins` : (event ?? "lifecycle");
}

/** JSON of a command that no driver knows: log lines of programs mostly have a message. */
function plain(data: unknown, short: Short): Block {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return { kind: "json", text: short(text) };
}

function blockOf(activity: Activity, short: Short): Block | undefined {
  switch (activity.kind) {
    case "said":
      return activity.text.trim() === "" ? undefined : { kind: "said", text: short(strip(activity.text)) };
    case "thought":
      return activity.text.trim() === "" ? undefined : { kind: "thought", text: short(strip(activity.text)) };
    case "unparsed":
      return { kind: "text", text: short(activity.text) };
    case "tool":
      return toolBlock(activity.name, activity.input, short);
    case "tool_result":
      return { kind: "result", ok: activity.ok, text: short(activity.text) };
    case "permission":
      return {
        kind: "trouble",
        text: `${activity.tool} ${activity.denied ? "was not permitted" : "needs a permission"}`,
      };
    case "trouble":
      return { kind: "trouble", text: short(strip(activity.text)) };
    case "finished":
      return { kind: "finished", ok: activity.ok, text: short(strip(activity.why ?? activity.text ?? "")) };
    case "started":
      // Some CLIs name their session in every line: only one that tells its model is worth a row.
      return activity.model === null ? undefined : { kind: "note", text: `session begins with ${activity.model}` };
    case "note":
      return { kind: "note", text: activity.name === "message_received" ? "took up a message" : activity.name };
    case "usage":
      return undefined;
  }
}

/** The field that says most about a call, by what tools name theirs. */
const BRIEF = ["command", "file_path", "filePath", "path", "pattern", "query", "url", "description", "prompt", "name"];

function toolBlock(name: string, input: unknown, short: Short): Block {
  const fields = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {};
  const key = BRIEF.find((one) => typeof fields[one] === "string" || Array.isArray(fields[one]));
  const value = key === undefined ? "" : fields[key];
  const brief = Array.isArray(value) ? value.join(" ") : String(value);
  const before = textIn(fields, "old_string", "oldString");
  const after = textIn(fields, "new_string", "newString", "content");
  const edit = after === undefined ? null : { before: short(before ?? ""), after: short(after) };
  const others = Object.entries(fields).filter(([one]) => one !== key && !EDITED.has(one));
  const detail = others.length > 0 ? short(JSON.stringify(Object.fromEntries(others), null, 2)) : "";
  return { kind: "tool", name, brief: short(strip(brief)), detail, edit };
}

const EDITED = new Set(["old_string", "oldString", "new_string", "newString", "content"]);

function textIn(fields: Record<string, unknown>, ...names: readonly string[]): string | undefined {
  for (const name of names) if (typeof fields[name] === "string") return fields[name];
  return undefined;
}
