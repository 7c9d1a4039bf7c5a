/**
 * Ids name files, so a string becomes an id in one place only. Everything that builds a path takes these branded types.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { MidwatchError } from "./errors.ts";

/** An agent, by its whole id. Where a caller names one, a unique beginning of it does too. */
export type AgentId = string & { readonly __id: "agent" };
/** A task, by its id. */
export type TaskId = string & { readonly __id: "task" };
/** A workspace as the others know it, when the journal is synced. */
export type OriginId = string & { readonly __id: "origin" };

/** Bytes of randomness; injected so that tests can fix the ids. */
export type Random = (bytes: number) => Uint8Array;

export const AGENT_ID: RegExp = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const ORIGIN_ID: RegExp = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const TASK_ID: RegExp = /^TASK-\d{8}-\d{6}-[0-9a-f]{8}$/;

const REGISTER_KEY: RegExp = /^(leases|registers|heartbeats)(\/[a-z0-9][a-z0-9_-]{0,63}){1,3}$/;

/** "-HHMMSS-6hex" takes 14 of the 64 characters. */
const PREFIX_MAX = 50;

/** `<prefix>-HHMMSS-6hex` in UTC; prefix is a name, role or driver as the user wrote it. */
export function newAgentId(prefix: string, nowMs: number = Date.now(), random: Random = randomBytes): AgentId {
  return `${slug(prefix)}-${stamp(nowMs).time}-${hex(random(3))}` as AgentId;
}

/** `TASK-YYYYMMDD-HHMMSS-8hex` in UTC. */
export function newTaskId(nowMs: number = Date.now(), random: Random = randomBytes): TaskId {
  const { date, time } = stamp(nowMs);
  return `TASK-${date}-${time}-${hex(random(4))}` as TaskId;
}

/** `<host>-6hex`: a name that people recognise and no other workspace has. */
export function newOriginId(host: string): OriginId {
  const name = host
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, PREFIX_MAX);
  return `${name === "" ? "host" : name.replace(/-+$/, "")}-${hex(randomBytes(3))}` as OriginId;
}

/** 32 hex digits that mark every process of one run. */
export function newNonce(): string {
  return hex(randomBytes(16));
}

/**
 * An id that sorts by time, and among those of one millisecond of one process by their order: 48 bits of ms, version 7, 26 random bits,
 * and a counter of 48 bits that begins at random (RFC 9562, 6.2).
 */
export function uuidv7(nowMs: number = Date.now()): string {
  if (nowMs !== moment.ms) moment = momentOf(nowMs);
  return moment.text + (moment.count++).toString(16);
}

/** Many ids share their millisecond. */
let moment = { ms: -1, text: "", count: 0 };

function momentOf(ms: number): typeof moment {
  const digits = ms.toString(16).padStart(12, "0");
  const random = randomUUID();
  // The counter's first digit is 8 to b, so that it always has twelve and cannot run over.
  const count = 0x8000_0000_0000 + Number.parseInt(random.slice(24), 16) / 4;
  return { ms, text: `${digits.slice(0, 8)}-${digits.slice(8)}-7${random.slice(15, 24)}`, count: Math.floor(count) };
}

/**
 * The part of an agent id that comes from a name or role: "Code Reviewer" gives "code-reviewer". What looks like a path
 * is refused rather than tidied, so that nobody believes a traversal was meant.
 */
export function slug(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[/\\\u0000-\u001f\u007f]|\.\./.test(text)) {
    throw new MidwatchError(
      "BAD_ID",
      `${quote(text)} cannot be used as a name: it looks like a path or has control characters.`,
      {
        hint: "Use letters, digits, spaces, - and _.",
      },
    );
  }
  const made = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/^[-_]+/, "")
    .slice(0, PREFIX_MAX)
    .replace(/-+$/, "");
  if (made === "") {
    throw new MidwatchError("BAD_ID", `${quote(text)} cannot be used as a name: it has no letter a-z and no digit.`, {
      hint: "Use at least one letter a-z or digit.",
    });
  }
  return made;
}

/** Ids are lower case; whoever types the name that was given may write it as it was. */
export function parseAgentId(text: unknown): AgentId {
  const lower = typeof text === "string" && !isTaskId(text) ? text.toLowerCase() : text;
  if (isAgentId(lower)) return lower;
  throw new MidwatchError("BAD_ID", `${quote(text)} is not an agent id.`, {
    hint: isTaskId(text)
      ? `It is a task: \`midwatch ls --all --task ${text}\` lists its agents.`
      : "An agent id has up to 64 of a-z, 0-9, _ and -, and begins with a letter or digit. `midwatch ls` lists them.",
  });
}

export function parseTaskId(text: unknown): TaskId {
  if (isTaskId(text)) return text;
  throw new MidwatchError("BAD_ID", `${quote(text)} is not a task id.`, {
    hint: "A task id looks like TASK-20261115-190000-1a2b3c4d. `midwatch tasks` lists them.",
  });
}

/** A register of the journal, such as `leases/leader`. It becomes a path, so nothing else passes. */
export function parseRegisterKey(text: string): string {
  if (REGISTER_KEY.test(text)) return text;
  throw new MidwatchError("BAD_ID", `${quote(text)} is not the key of a register.`, {
    hint: "A key is leases/, registers/ or heartbeats/ and one to three names of a-z, 0-9, _ and -.",
  });
}

export function isAgentId(text: unknown): text is AgentId {
  return typeof text === "string" && AGENT_ID.test(text);
}

export function isTaskId(text: unknown): text is TaskId {
  return typeof text === "string" && TASK_ID.test(text);
}

export function isOriginId(text: unknown): text is OriginId {
  return typeof text === "string" && ORIGIN_ID.test(text);
}

function stamp(nowMs: number): { date: string; time: string } {
  const text = new Date(nowMs).toISOString().replace(/[-:]/g, "");
  return { date: text.slice(0, 8), time: text.slice(9, 15) };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** The value as it goes into a message: quoted, escaped and bounded. */
export function quote(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** What `archive_dir` may be: a name in a task's folder that is none of those that midwatch uses for something else. */
export const ARCHIVE_DIR = "archive";
const TASK_FOLDERS = ["logs", "runs", "progress", "findings", "summaries"];

export function isArchiveName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name) &&
    !TASK_FOLDERS.includes(name) &&
    !name.startsWith("agent_prompt_")
  );
}
