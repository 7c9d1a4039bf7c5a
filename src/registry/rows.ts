/** Rows as callers see them, and their columns. JSON columns hold small objects; everything else is stored as it is. */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { Unsettled } from "../core/attention-record.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { PassedLimit } from "../core/needs-watch.ts";
import type { Guarantee, Hold, Member, Outcome, Phase, Tokens, TrackedFile, Verdict } from "../core/types.ts";

export interface TaskRow {
  id: TaskId;
  description: string;
  created_at: string;
  /** The whole task.json. */
  data: Record<string, unknown>;
}

export interface AgentRow {
  id: AgentId;
  task: TaskId;
  driver: string;
  role: string | null;
  name: string | null;
  parent: AgentId | null;
  /** 0 for an agent started by a person. */
  depth: number;
  created_at: string;
  model: string | null;
  labels: string[] | null;
  /** SHA-256 of its capability. */
  capability: string | null;
}

export interface RunRow {
  agent: AgentId;
  run: number;
  nonce: string;
  phase: Phase;
  outcome: Outcome | null;
  guarantee: Guarantee | null;
  verdict: Verdict | null;
  alive: Member[] | null;
  hold: Hold | null;
  pid: number | null;
  keeper_pid: number | null;
  log: string;
  bytes: number;
  last_output_at: string | null;
  created_at: string;
  /** By the clock of the boot it was created in: the wall clock may be set while it is being launched. */
  created_mono_ms: number | null;
  started_at: string | null;
  ended_at: string | null;
  exit_code: number | null;
  exit_signal: string | null;
  tokens: Tokens | null;
  /** As its CLI told it. */
  cost_usd: number | null;
  /** What it cost in all, by the list of prices where its CLI did not tell; missing before 0.2. */
  spent: RunCost | null;
  reason: string | null;
  session: string | null;
  /** 1 while it waits for its turn. */
  queued: number;
  /** When its turn came, by the monotonic clock; null for runs that never waited. */
  turn_mono_ms: number | null;
  /** When the age of its plain log begins to count; null when there is nothing to archive. */
  archive_from: string | null;
  /** What its stream said, else what it was started with. */
  model: string | null;
  /** What it left to a person when it ended. */
  unsettled: Unsettled | null;
  /** The limit that it has passed. */
  passed: PassedLimit | null;
}

export interface RunCost {
  /** Null when of some of it no price is known. */
  usd: number | null;
  estimated: boolean;
}

export interface FileRow extends TrackedFile {
  agent: AgentId;
  run: number;
}

/** The newest progress, or finding, that an agent reported. */
export interface ReportRow {
  agent: AgentId;
  kind: "progress" | "findings";
  data: Record<string, unknown>;
}

/** A reader's durable place in a log. */
export interface CursorRow {
  agent: AgentId;
  /** `stream` for what an agent prints; else the absolute path of a file. */
  log: string;
  /** 0 for a file that is no run's. */
  run: number;
  /** Of the next byte to read, always behind a newline; in an archive it is the same. */
  offset: number;
  /** Lines before `offset`. */
  line: number;
  /** CRC32 of everything that was read in this generation. */
  checksum: number;
  /** How often the file was found to be another one. */
  generation: number;
  /** What the file is recognised by; null for a run's own log. */
  file: FileMark | null;
  /** Bytes that were there and were gone before they could be read. */
  missed_bytes: number;
  updated_at: string;
}

export interface FileMark {
  dev: number;
  ino: number;
  birth_ms: number;
  /** CRC32 of its first 16, 32, 64 ... bytes, as many as there were. */
  head: number[];
  /** CRC32 of the bytes just before the offset. */
  tail: number;
  /** Its size when it was looked at. */
  seen: number;
}

/** The newest summary of a run. `told` is the `id` that files and journal have heard of. */
export interface SummaryRow {
  agent: AgentId;
  run: number;
  /** Of the last change of the verdict. */
  id: string;
  told: string | null;
  /** 1 when the run has ended and all of its log was read. */
  final: number;
  /** The whole summary. */
  data: Record<string, unknown>;
}

/** An agent with its newest run: what `ls` prints a line of. */
export interface Listed {
  agent: AgentRow;
  run: RunRow;
}

const TASK = ["id", "description", "created_at", "data"] as const satisfies readonly (keyof TaskRow)[];
const AGENT = [
  "id",
  "task",
  "driver",
  "role",
  "name",
  "parent",
  "depth",
  "created_at",
  "model",
  "labels",
  "capability",
] as const satisfies readonly (keyof AgentRow)[];
const RUN = [
  "agent",
  "run",
  "nonce",
  "phase",
  "outcome",
  "guarantee",
  "verdict",
  "alive",
  "hold",
  "pid",
  "keeper_pid",
  "log",
  "bytes",
  "last_output_at",
  "created_at",
  "created_mono_ms",
  "started_at",
  "ended_at",
  "exit_code",
  "exit_signal",
  "tokens",
  "cost_usd",
  "spent",
  "reason",
  "session",
  "queued",
  "turn_mono_ms",
  "archive_from",
  "model",
  "unsettled",
  "passed",
] as const satisfies readonly (keyof RunRow)[];
const FILE = [
  "agent",
  "run",
  "path",
  "kind",
  "bytes",
  "created_at",
  "sha256",
] as const satisfies readonly (keyof FileRow)[];
const REPORT = ["agent", "kind", "data"] as const satisfies readonly (keyof ReportRow)[];
const CURSOR = [
  "agent",
  "log",
  "run",
  "offset",
  "line",
  "checksum",
  "generation",
  "file",
  "missed_bytes",
  "updated_at",
] as const satisfies readonly (keyof CursorRow)[];
const SUMMARY = ["agent", "run", "id", "told", "final", "data"] as const satisfies readonly (keyof SummaryRow)[];
const JSON_COLUMNS = new Set(["data", "alive", "hold", "tokens", "labels", "file", "unsettled", "spent", "passed"]);

export const COLUMNS: Readonly<Record<Table, readonly string[]>> = {
  tasks: TASK,
  agents: AGENT,
  runs: RUN,
  files: FILE,
  reports: REPORT,
  cursors: CURSOR,
  summaries: SUMMARY,
};
const KEYS = {
  tasks: ["id"],
  agents: ["id"],
  runs: ["agent", "run"],
  files: ["agent", "run", "path"],
  reports: ["agent", "kind"],
  cursors: ["agent", "log", "run"],
  summaries: ["agent", "run"],
} as const;

export type Table = keyof typeof KEYS;

/** What a row made from facts leaves as it is: the watch's word, which they do not hold, and the nonce, which others could change there. */
const KEPT: Readonly<Record<string, string>> = {
  "runs.verdict": "coalesce(excluded.verdict, runs.verdict)",
  "runs.nonce": "coalesce(nullif(runs.nonce, ''), excluded.nonce)",
};

/** Made once: they are asked for with each row. */
const INSERTS = new Map<string, string>();
const UPSERTS = new Map<string, string>();

/** Of so many rows in one statement: many rows are stored in two thirds of the time. */
export function insertSql(table: Table, rows = 1): string {
  return made(INSERTS, table, rows, () => {
    const columns = COLUMNS[table];
    const row = `(${columns.map(() => "?").join(", ")})`;
    return `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${Array.from({ length: rows }, () => row).join(", ")}`;
  });
}

export function upsertSql(table: Table, rows = 1): string {
  return made(UPSERTS, table, rows, () => {
    const keys: readonly string[] = KEYS[table];
    const sets = COLUMNS[table]
      .filter((column) => !keys.includes(column))
      .map((column) => `${column} = ${KEPT[`${table}.${column}`] ?? `excluded.${column}`}`);
    return `${insertSql(table, rows)} ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${sets.join(", ")}`;
  });
}

function made(sqls: Map<string, string>, table: Table, rows: number, make: () => string): string {
  const key = rows === 1 ? table : `${table} ${rows}`;
  const known = sqls.get(key) ?? make();
  sqls.set(key, known);
  return known;
}

/** The values of a row in the order of its table's columns; a field that is missing is stored as null. */
export function valuesOf(table: Table, row: object): SQLInputValue[] {
  const fields = row as Record<string, unknown>;
  return COLUMNS[table].map((column) => {
    const value = fields[column] ?? null;
    return JSON_COLUMNS.has(column) && value !== null ? JSON.stringify(value) : (value as SQLInputValue);
  });
}

/** A row as read, its JSON columns parsed. `prefix` picks the columns of one table out of a join. */
export function readRow<T>(table: Table, row: Record<string, SQLOutputValue>, prefix = ""): T {
  const made: Record<string, unknown> = {};
  for (const column of COLUMNS[table]) {
    const value = row[prefix + column] ?? null;
    made[column] = JSON_COLUMNS.has(column) && typeof value === "string" ? JSON.parse(value) : value;
  }
  return made as T;
}
