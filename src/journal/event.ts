/**
 * One line of events.log: how an event is made, and how a line is read. The seeds' five fields (interaction, actor, type, content,
 * timestamp) are enough for a line of plain shell; fields that are not known here are kept.
 */
import { createHash } from "node:crypto";
import { MidwatchError } from "../core/errors.ts";
import { quote, uuidv7 } from "../core/ids.ts";
import { assertFlat, type Fields, isFields, LINE_DEPTH, parseWithin } from "../core/json.ts";
import { maskText, maskValue } from "../core/mask/mask.ts";
import { iso, parseRfc3339 } from "../core/time.ts";

/** One event of the journal: a line of events.log. */
export interface JournalEvent {
  v: 1;
  /** UUIDv7 of the writer; derived from the place for lines of plain shells. */
  id: string;
  interaction: number;
  actor: string;
  type: string;
  content: string;
  timestamp: string;
  task?: string;
  agent?: string;
  to?: string | string[];
  /** The id of the event that led to this one. */
  cause?: string;
  origin?: string;
  /** Only on what a leader writes: void behind the election of a higher term. */
  term?: number;
  data?: unknown;
  [more: string]: unknown;
}

/** An event as a caller gives it; what is missing is made. */
export type EventInput = Pick<JournalEvent, "interaction" | "actor" | "type" | "content"> & {
  [K in "id" | "timestamp" | "task" | "agent" | "to" | "cause" | "origin" | "term" | "data"]?:
    | JournalEvent[K]
    | undefined;
};

/** At the doors; what midwatch itself writes is short. */
const CONTENT_MAX: number = 1 << 20;
const ACTOR_MAX = 200;
const ID_MAX = 128;
const TYPE = /^[a-z][a-z0-9_.-]{0,63}$/;
/** What midwatch tells of itself. */
const RESERVED = /^(leader_election$|(agent|verdict|cleanup|prune|stop|budget|trust|http|fleet)\.)/;
/** What midwatch tells of agents: people may use these words, an agent's would look like ours. */
const TOLD_OF_AGENTS = /^(error|turn|progress|finding)$/;

export function isReserved(type: string): boolean {
  return RESERVED.test(type);
}

/** With the fields in their order: a line begins with its version and id, which makes both quick to find. */
export function makeEvent(input: EventInput): JournalEvent {
  const { id = uuidv7(), interaction, actor, type, content, timestamp = iso() } = input;
  const event: JournalEvent = { v: 1, id, interaction, actor, type, content, timestamp };
  for (const key of Object.keys(input)) {
    const value = input[key as keyof EventInput];
    if (value !== undefined && !(key in event)) event[key] = value;
  }
  return event;
}

/** What comes through a door: checked, bounded, secrets masked, no type that only midwatch may write. */
export function checkInput(input: EventInput, byAgent = false): EventInput {
  const { interaction, actor, type, content } = input;
  if (isReserved(type) || (byAgent && TOLD_OF_AGENTS.test(type))) {
    throw new MidwatchError("REFUSED_TYPE", `Only midwatch writes events of the type ${quote(type)}.`, {
      hint: `Use another type, such as question, answer, followup or note${byAgent ? "; `midwatch progress` and `midwatch finding` report" : ""}.`,
    });
  }
  assertFlat(input.data);
  const bytes = Buffer.byteLength(content) + (input.data === undefined ? 0 : JSON.stringify(input.data).length);
  if (bytes > CONTENT_MAX) {
    throw new MidwatchError(
      "TOO_LARGE",
      `The content is longer than ${CONTENT_MAX} bytes, the most that an event takes.`,
      {
        hint: "Put long text into a file and name the file in the event.",
      },
    );
  }
  const fault = faultOf({ interaction, actor, type, content });
  if (fault !== undefined) {
    throw new MidwatchError("USAGE", `This is no event: ${fault}.`, {
      hint: 'midwatch event 1 "Agent A" question "What now?"; a type has up to 64 of a-z, 0-9, _, . and -.',
    });
  }
  return { ...input, content: maskText(content), ...(input.data === undefined ? {} : { data: maskValue(input.data) }) };
}

export type LineRead = { event: JournalEvent; reason: undefined } | { event: undefined; reason: string };

/** `seq` is where the line begins: it makes the id of a line that has none. */
export function readEvent(line: Uint8Array, seq: number): LineRead {
  let value: unknown;
  try {
    value = parseWithin(utf8.decode(line), LINE_DEPTH);
  } catch (error) {
    return bad(error instanceof SyntaxError ? "not JSON" : "not UTF-8");
  }
  if (!isFields(value)) return bad("not a JSON object");
  if ((value["v"] ?? 1) !== 1) return bad(`its version is ${quote(value["v"])}, not 1`);
  const fault = faultOf(value);
  if (fault !== undefined) return bad(fault);
  const { timestamp, id } = value;
  if (typeof timestamp !== "string" || parseRfc3339(timestamp) === undefined) return bad("timestamp is not a UTC time");
  if (id === undefined || id === null)
    return { event: { ...value, v: 1, id: placeId("line", seq, line) } as JournalEvent, reason: undefined };
  if (typeof id !== "string" || id === "" || id.length > ID_MAX) return bad("id is not a short text");
  return { event: value as JournalEvent, reason: undefined };
}
const utf8 = new TextDecoder("utf-8", { fatal: true });

function bad(reason: string): LineRead {
  return { event: undefined, reason };
}

function faultOf(fields: Fields): string | undefined {
  const { interaction, actor, type, content } = fields;
  if (!Number.isSafeInteger(interaction) || (interaction as number) < 0)
    return "interaction is not a whole number from 0 up";
  if (typeof actor !== "string" || actor.trim() === "" || actor.length > ACTOR_MAX)
    return `actor is not a text of 1 to ${ACTOR_MAX} characters`;
  if (typeof type !== "string" || !TYPE.test(type)) return `type ${quote(type)} is not a short word`;
  return typeof content === "string" ? undefined : "content is not a text";
}

/**
 * An id that the same line at the same place always gives, shaped as a UUID of version 8: whoever makes it again after a crash
 * makes the same one.
 */
export function placeId(kind: string, place: number | string, bytes: Uint8Array | string = ""): string {
  const hash = createHash("sha256").update(`${kind}\0${place}\0`).update(bytes).digest().subarray(0, 16);
  hash[6] = 0x80 | ((hash[6] ?? 0) & 0x0f);
  hash[8] = 0x80 | ((hash[8] ?? 0) & 0x3f);
  return hash.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
