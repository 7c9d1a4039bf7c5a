/**
 * The registry: tasks, agents, runs and tracked files of a workspace in SQLite. It is an index, every row can be made
 * again from the folders; what only it can give is one transaction that counts and inserts (limits, unique ids).
 */
import type { SQLInputValue } from "node:sqlite";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { Said } from "../core/phase.ts";
import { iso, monoMs } from "../core/time.ts";
import type { Outcome, Phase, TrackedFile } from "../core/types.ts";
import { Connection, type OpenOptions } from "./connection.ts";
import { checkLimits, countBusy, type Limits } from "./limits.ts";
import { LIVE, NEWEST } from "./live.ts";
import {
  type AgentRow,
  COLUMNS,
  type FileRow,
  type Listed,
  type ReportRow,
  type RunRow,
  readRow,
  type SummaryRow,
  type Table,
  type TaskRow,
} from "./rows.ts";
import { REGISTRY } from "./schema.ts";
import { Statements } from "./statements.ts";
import { readUsed, type UsedRow } from "./used.ts";
import { Watched } from "./watched.ts";

export type { AgentRow, CursorRow, FileMark, FileRow, Listed, ReportRow, RunRow, SummaryRow, TaskRow } from "./rows.ts";

export interface ListOptions {
  /** Every agent; otherwise the live ones and those that ended at or after `since`. */
  all?: boolean;
  /** ISO time; with `all` it drops what ended before. */
  since?: string;
  task?: TaskId;
}

export interface Contents {
  tasks: readonly TaskRow[];
  agents: readonly AgentRow[];
  runs: readonly RunRow[];
  files?: readonly FileRow[];
  reports?: readonly ReportRow[];
  summaries?: readonly SummaryRow[];
}

export interface ArchiveDue {
  task: TaskId;
  agent: AgentId;
  run: number;
  newest: boolean;
}

const FOUND_MAX = 10;

export class Registry {
  readonly #connection: Connection;
  readonly #db: Statements;
  /** Places in logs, and what was made of what was read. */
  readonly watched: Watched;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.#db = new Statements(connection);
    this.watched = new Watched(this.#db);
  }

  static open(path: string, options: OpenOptions = {}): Registry {
    return new Registry(Connection.open(path, REGISTRY, options));
  }

  close(): void {
    this.#connection.db.close();
  }

  /** Where a damaged database was put, when this open found one. */
  get movedAside(): string | undefined {
    return this.#connection.movedAside;
  }

  /** True until `rebuild` has run once on this file: a new, moved or in-memory registry knows nothing yet. */
  get needsRebuild(): boolean {
    return this.#db.all("SELECT 1 FROM meta WHERE key = 'built_at'").length === 0;
  }

  putTask(row: TaskRow): void {
    this.#db.write(() => this.#db.put("tasks", row));
  }

  /**
   * Reserves a run: counts and inserts in one transaction, so that no two callers pass the same limit. Throws
   * REFUSED_LIMIT, or DUPLICATE_ID (retryable: make another id) when the agent or run exists.
   */
  insertRun(agent: AgentRow, run: RunRow, limits: Limits): void {
    this.#db.write(() => {
      checkLimits(this.#db, agent, run, limits);
      if (run.run === 1) this.#db.insert("agents", agent, agent.id);
      else this.#db.put("agents", agent);
      this.#db.insert("runs", run, `${run.agent}.${run.run}`);
    });
  }

  /** A launch that takes its time (a worktree, its setup) is not given up while its launcher says that it lives. */
  stillLaunching(agent: AgentId, run: number): void {
    const sql = "UPDATE runs SET created_mono_ms = ? WHERE agent = ? AND run = ? AND phase = 'intended'";
    this.#db.write(() => this.#db.run(sql, monoMs(), agent, run));
  }

  putRun(row: RunRow, agent?: AgentRow): void {
    this.putRuns([row], agent === undefined ? [] : [agent]);
  }

  /** A run without its agent is in no list: whoever is not sure that the agent is known gives it too. */
  putRuns(rows: readonly RunRow[], agents: readonly AgentRow[] = []): void {
    if (rows.length === 0) return;
    this.#db.write(() => {
      this.#db.putAll("agents", agents);
      this.#db.putAll("runs", rows);
    });
  }

  /**
   * Gives a waiting run its turn when fewer than `most` are busy: counted and marked in one transaction, so that no two
   * callers start one too many. A turn that led to nothing within `staleMs` is given again.
   */
  takeTurn(agent: AgentId, run: number, most: number, staleMs: number, besides?: AgentId): boolean {
    return this.#db.write(() => {
      const now = monoMs();
      this.#db.run(
        "UPDATE runs SET queued = 1 WHERE agent = ? AND run = ? AND phase = 'intended' AND abs(? - turn_mono_ms) > ?",
        agent,
        run,
        now,
        staleMs,
      );
      if (countBusy(this.#db, besides) >= most) return false;
      const sql = "UPDATE runs SET queued = 0, turn_mono_ms = ? WHERE agent = ? AND run = ? AND queued = 1";
      return this.#db.run(sql, now, agent, run) === 1;
    });
  }

  putReport(agent: AgentId, kind: ReportRow["kind"], data: object): void {
    this.#db.write(() => this.#db.put("reports", { agent, kind, data }));
  }

  /** The newest reports of the agents of a task. */
  reports(task: TaskId): ReportRow[] {
    const sql = "SELECT reports.* FROM reports JOIN agents ON agents.id = reports.agent WHERE agents.task = ?";
    return this.#db.all(sql, task).map((row) => readRow("reports", row));
  }

  /** The status and the time of each agent's newest report of its progress. */
  said(): ReadonlyMap<AgentId, Said> {
    const sql = `SELECT agent, json_extract(data, '$.status') AS status, json_extract(data, '$.timestamp') AS timestamp
      FROM reports WHERE kind = 'progress' AND json_valid(data)`;
    return new Map(
      this.#db
        .all(sql)
        .map(({ agent, status, timestamp }) => [
          agent as AgentId,
          { status: String(status), timestamp: String(timestamp) },
        ]),
    );
  }

  /** Sets the tracked files of one run. */
  putFiles(agent: AgentId, run: number, files: readonly TrackedFile[]): void {
    this.#db.write(() => {
      this.#db.run("DELETE FROM files WHERE agent = ? AND run = ?", agent, run);
      for (const file of files) this.#db.put("files", { ...file, agent, run });
    });
  }

  /** Runs with plain logs from before this time, oldest first. */
  archiveDue(before: string, most: number): ArchiveDue[] {
    const sql = `SELECT agents.task, runs.agent, runs.run, ${NEWEST} AS newest FROM runs JOIN agents ON agents.id = runs.agent
      WHERE runs.archive_from <= ? ORDER BY runs.archive_from LIMIT ?`;
    return this.#db.all(sql, before, most).map(({ task, agent, run, newest }) => ({
      task: task as TaskId,
      agent: agent as AgentId,
      run: Number(run),
      newest: newest === 1,
    }));
  }

  /**
   * Takes agents out, and the task too when asked; false, and nothing is changed, when one of its agents has been started since.
   * After that no new run finds the task.
   */
  takeOut(task: TaskId, agents: readonly AgentId[], whole: boolean): boolean {
    return this.#db.write(() => {
      const live = `SELECT count(*) AS n FROM runs WHERE agent = ? AND ${LIVE}`;
      if (agents.some((agent) => this.#db.count(live, agent) > 0)) return false;
      const known = new Set<unknown>(agents);
      const ids = whole ? this.#db.all("SELECT id FROM agents WHERE task = ?", task) : [];
      if (ids.some(({ id }) => !known.has(id))) return false;
      for (const agent of agents) {
        for (const table of ["runs", "files", "reports", "cursors", "summaries"])
          this.#db.run(`DELETE FROM ${table} WHERE agent = ?`, agent);
        this.#db.run("DELETE FROM agents WHERE id = ?", agent);
      }
      if (whole) this.#db.run("DELETE FROM tasks WHERE id = ?", task);
      return true;
    });
  }

  /** Puts rows that were read from the folders beside those that are here. */
  putBack(contents: Contents): void {
    this.#db.write(() => this.#putContents(contents));
  }

  /** Removes a reserved run whose folder never came to be, and its agent when no run is left. */
  deleteRun(agent: AgentId, run: number): void {
    this.#db.write(() => {
      this.#db.run("DELETE FROM runs WHERE agent = ? AND run = ?", agent, run);
      for (const table of ["files", "cursors", "summaries"])
        this.#db.run(`DELETE FROM ${table} WHERE agent = ? AND run = ?`, agent, run);
      this.#db.run(
        "DELETE FROM agents WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE agent = agents.id)",
        agent,
      );
      this.#db.run(
        "DELETE FROM reports WHERE agent = ? AND NOT EXISTS (SELECT 1 FROM agents WHERE id = ?)",
        agent,
        agent,
      );
    });
  }

  /**
   * Replaces the contents by what was read from the folders. Rows created at or after `keepSince` (when that reading
   * began) stay, because the reading may have missed them; so does a turn that was taken meanwhile, which no folder tells of.
   */
  rebuild(contents: Contents, keepSince: string = iso()): void {
    this.#db.write(() => {
      const turns = this.#db.all(
        "SELECT agent, run, turn_mono_ms FROM runs WHERE phase = 'intended' AND queued = 0 AND turn_mono_ms IS NOT NULL",
      );
      this.#db.run(
        "DELETE FROM files WHERE (agent, run) IN (SELECT agent, run FROM runs WHERE created_at < ?)",
        keepSince,
      );
      this.#db.run("DELETE FROM runs WHERE created_at < ?", keepSince);
      this.#db.run(
        "DELETE FROM agents WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE agent = agents.id)",
        keepSince,
      );
      this.#db.run("DELETE FROM tasks WHERE created_at < ?", keepSince);
      this.#db.run("DELETE FROM reports");
      this.#db.run("DELETE FROM summaries");
      this.#putContents(contents);
      const given = "UPDATE runs SET queued = 0, turn_mono_ms = ? WHERE agent = ? AND run = ? AND queued = 1";
      for (const { agent = null, run = null, turn_mono_ms = null } of turns)
        this.#db.run(given, turn_mono_ms, agent, run);
      this.#db.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('built_at', ?)", iso());
    });
  }

  /** Newest first. */
  tasks(): TaskRow[] {
    return this.#db.all("SELECT * FROM tasks ORDER BY created_at DESC, id").map((row) => readRow("tasks", row));
  }

  task(id: TaskId): TaskRow | undefined {
    const row = this.#db.all("SELECT * FROM tasks WHERE id = ?", id)[0];
    return row === undefined ? undefined : readRow("tasks", row);
  }

  /** Each agent with its newest run, newest first. */
  list(options: ListOptions = {}): Listed[] {
    const where = [NEWEST];
    const values: SQLInputValue[] = [];
    if (options.task !== undefined) {
      where.push("agents.task = ?");
      values.push(options.task);
    }
    if (options.since !== undefined) {
      where.push(`(${LIVE} OR runs.ended_at >= ?)`);
      values.push(options.since);
    } else if (options.all !== true) where.push(LIVE);
    return this.#listed(`${where.join(" AND ")} ORDER BY runs.created_at DESC, runs.agent`, values);
  }

  /** Agents that have ended, those that did so first before others; of all, or of those that had by then. */
  endedFirst(by: string | undefined, most: number): Listed[] {
    const at = "coalesce(runs.ended_at, runs.created_at)";
    const where = `${NEWEST} AND NOT ${LIVE} AND ${at} <= ? ORDER BY ${at}, runs.agent LIMIT ?`;
    return this.#listed(where, [by ?? "9999", most]);
  }

  /** What the files of all newest runs took when they were last seen. */
  fileBytes(): number {
    return this.#db.count("SELECT coalesce(sum(bytes), 0) AS n FROM files");
  }

  /** One agent with its newest run. */
  get(agent: AgentId): Listed | undefined {
    return this.#listed(`runs.agent = ? AND ${NEWEST}`, [agent])[0];
  }

  /** Agents started by this one, each with its newest run. */
  children(parent: AgentId): Listed[] {
    return this.#listed(`agents.parent = ? AND ${NEWEST} ORDER BY runs.created_at, runs.agent`, [parent]);
  }

  /** Every run by name, and its phase: by agent as in `list`, the first run first. */
  runNames(task?: TaskId): { task: TaskId; agent: AgentId; run: number; phase: Phase }[] {
    const newest = "first_value(runs.created_at) OVER (PARTITION BY runs.agent ORDER BY runs.run DESC)";
    const sql = `SELECT agents.task AS task, runs.agent AS agent, runs.run AS run, runs.phase AS phase, ${newest} AS newest
      FROM runs JOIN agents ON agents.id = runs.agent WHERE ?1 IS NULL OR agents.task = ?1
      ORDER BY newest DESC, runs.agent, runs.run`;
    return this.#db.all(sql, task ?? null).map(({ task: of, agent, run, phase }) => ({
      task: of as TaskId,
      agent: agent as AgentId,
      run: Number(run),
      phase: phase as Phase,
    }));
  }

  /** Every agent with a run that began or was still going at or after this time. */
  agentsSince(since: string): { task: TaskId; agent: AgentId; run: number }[] {
    const sql = `SELECT agents.task, runs.agent, max(runs.run) AS run FROM runs JOIN agents ON agents.id = runs.agent
      WHERE coalesce(runs.ended_at, '9999') >= ? GROUP BY runs.agent`;
    return this.#db
      .all(sql, since)
      .map(({ task, agent, run }) => ({ task: task as TaskId, agent: agent as AgentId, run: Number(run) }));
  }

  /** Every run that used anything, as far as is known here. */
  used(): UsedRow[] {
    return readUsed(this.#db);
  }

  /** Runs that ended since then and whose logs nobody has read to the end. */
  unwatched(since: string): Listed[] {
    const where = `runs.ended_at >= ? AND NOT EXISTS
      (SELECT 1 FROM summaries WHERE summaries.agent = runs.agent AND summaries.run = runs.run AND summaries.final = 1)`;
    return this.#listed(where, [since]);
  }

  /** Runs and what they printed, by phase and outcome. */
  counts(): { phase: Phase; outcome: Outcome | null; runs: number; bytes: number }[] {
    const sql = "SELECT phase, outcome, count(*) AS n, sum(bytes) AS bytes FROM runs GROUP BY phase, outcome";
    return this.#db.all(sql).map(({ phase, outcome, n, bytes }) => ({
      phase: phase as Phase,
      outcome: outcome as Outcome | null,
      runs: Number(n),
      bytes: Number(bytes),
    }));
  }

  /** Every run of an agent, first to newest. */
  runsOf(agent: AgentId): RunRow[] {
    return this.#db.all("SELECT * FROM runs WHERE agent = ? ORDER BY run", agent).map((row) => readRow("runs", row));
  }

  hasRun(agent: AgentId, run: number): boolean {
    return this.#db.count("SELECT count(*) AS n FROM runs WHERE agent = ? AND run = ?", agent, run) > 0;
  }

  filesOf(agent: AgentId, run: number): TrackedFile[] {
    const rows = this.#db.all("SELECT * FROM files WHERE agent = ? AND run = ? ORDER BY path", agent, run);
    return rows.map((row) => {
      const { path, kind, bytes, created_at, sha256 } = readRow<FileRow>("files", row);
      return { path, kind, bytes, created_at, sha256 };
    });
  }

  /** Agent ids that begin with `prefix`, at most 10. */
  findByPrefix(prefix: string, most: number = FOUND_MAX): AgentId[] {
    // Ids are ASCII, so everything with the prefix sorts below prefix + DEL.
    const sql = `SELECT id FROM agents WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`;
    return this.#db.all(sql, prefix, `${prefix}\u007f`, most).map((row) => row["id"] as AgentId);
  }

  /** What SQLite finds wrong in the whole file; empty when it is sound. */
  integrity(): string[] {
    const problems = this.#db.all("PRAGMA integrity_check(100)").map((row) => String(row["integrity_check"]));
    return problems.filter((problem) => problem !== "ok");
  }

  #listed(where: string, values: SQLInputValue[]): Listed[] {
    const columns = [
      ...COLUMNS.agents.map((column) => `agents.${column} AS a_${column}`),
      ...COLUMNS.runs.map((column) => `runs.${column} AS r_${column}`),
    ].join(", ");
    const sql = `SELECT ${columns} FROM runs JOIN agents ON agents.id = runs.agent WHERE ${where}`;
    return this.#db.all(sql, ...values).map((row) => ({
      agent: readRow<AgentRow>("agents", row, "a_"),
      run: readRow<RunRow>("runs", row, "r_"),
    }));
  }

  #putContents({ tasks, agents, runs, files = [], reports = [], summaries = [] }: Contents): void {
    for (const [table, rows] of Object.entries({ tasks, agents, runs, files, reports, summaries }))
      this.#db.putAll(table as Table, rows);
  }
}
