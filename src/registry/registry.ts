/**
 * The registry: tasks, agents, runs and tracked files of a workspace in SQLite. It is an index, every row can be made
 * again from the folders; what only it can give is one transaction that counts and inserts (limits, unique ids).
 */
import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Config } from "../core/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import { iso, monoMs } from "../core/time.ts";
import type { Outcome, Phase, TrackedFile } from "../core/types.ts";
import { Connection, isDuplicate, type OpenOptions } from "./connection.ts";
import {
  type AgentRow,
  COLUMNS,
  type FileRow,
  insertSql,
  type Listed,
  type ReportRow,
  type RunRow,
  readRow,
  type SummaryRow,
  type Table,
  type TaskRow,
  upsertSql,
  valuesOf,
} from "./rows.ts";
import { Watched } from "./watched.ts";

export type { AgentRow, CursorRow, FileMark, FileRow, Listed, ReportRow, RunRow, SummaryRow, TaskRow } from "./rows.ts";

export type Limits = Pick<Config, "max_agents" | "max_depth" | "max_children" | "child_rate">;

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

/** A lost run counts while one of its processes was seen alive. The first term is the one of the index runs_live, word for word. */
const LIVE = `(runs.phase NOT IN ('drained', 'archived', 'launch_failed')
  AND (runs.phase <> 'lost' OR coalesce(runs.alive, '[]') <> '[]'))`;
/** Those that wait for their turn take no room. */
const BUSY = `(${LIVE} AND runs.queued = 0)`;
const NEWEST = "runs.run = (SELECT max(run) FROM runs AS later WHERE later.agent = runs.agent)";
const MINUTE_MS = 60_000;
const FOUND_MAX = 10;

export class Registry {
  readonly #connection: Connection;
  readonly #statements = new Map<string, StatementSync>();
  /** Places in logs, and what was made of what was read. */
  readonly watched: Watched;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.watched = new Watched(connection);
  }

  static open(path: string, options: OpenOptions = {}): Registry {
    return new Registry(Connection.open(path, options));
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
    return this.#all("SELECT 1 FROM meta WHERE key = 'built_at'").length === 0;
  }

  putTask(row: TaskRow): void {
    this.#connection.write(() => this.#put("tasks", row));
  }

  /**
   * Reserves a run: counts and inserts in one transaction, so that no two callers pass the same limit. Throws
   * REFUSED_LIMIT, or DUPLICATE_ID (retryable: make another id) when the agent or run exists.
   */
  insertRun(agent: AgentRow, run: RunRow, limits: Limits): void {
    this.#connection.write(() => {
      this.#checkLimits(agent, run, limits);
      if (run.run === 1) this.#insert("agents", agent, agent.id);
      else this.#put("agents", agent);
      this.#insert("runs", run, `${run.agent}.${run.run}`);
    });
  }

  /** A launch that takes its time (a worktree, its setup) is not given up while its launcher says that it lives. */
  stillLaunching(agent: AgentId, run: number): void {
    const sql = "UPDATE runs SET created_mono_ms = ? WHERE agent = ? AND run = ? AND phase = 'intended'";
    this.#connection.write(() => this.#run(sql, monoMs(), agent, run));
  }

  putRun(row: RunRow, agent?: AgentRow): void {
    this.putRuns([row], agent === undefined ? [] : [agent]);
  }

  /** A run without its agent is in no list: whoever is not sure that the agent is known gives it too. */
  putRuns(rows: readonly RunRow[], agents: readonly AgentRow[] = []): void {
    if (rows.length === 0) return;
    this.#connection.write(() => {
      this.#putAll("agents", agents);
      this.#putAll("runs", rows);
    });
  }

  /**
   * Gives a waiting run its turn when fewer than `most` are busy: counted and marked in one transaction, so that no two
   * callers start one too many. A turn that led to nothing within `staleMs` is given again.
   */
  takeTurn(agent: AgentId, run: number, most: number, staleMs: number): boolean {
    return this.#connection.write(() => {
      const now = monoMs();
      this.#run(
        "UPDATE runs SET queued = 1 WHERE agent = ? AND run = ? AND phase = 'intended' AND abs(? - turn_mono_ms) > ?",
        agent,
        run,
        now,
        staleMs,
      );
      if (this.#count(`SELECT count(*) AS n FROM runs WHERE ${BUSY}`) >= most) return false;
      const sql = "UPDATE runs SET queued = 0, turn_mono_ms = ? WHERE agent = ? AND run = ? AND queued = 1";
      return this.#prepare(sql).run(now, agent, run).changes === 1;
    });
  }

  putReport(agent: AgentId, kind: ReportRow["kind"], data: object): void {
    this.#connection.write(() => this.#put("reports", { agent, kind, data }));
  }

  /** The newest reports of the agents of a task. */
  reports(task: TaskId): ReportRow[] {
    const sql = "SELECT reports.* FROM reports JOIN agents ON agents.id = reports.agent WHERE agents.task = ?";
    return this.#all(sql, task).map((row) => readRow("reports", row));
  }

  /** Sets the tracked files of one run. */
  putFiles(agent: AgentId, run: number, files: readonly TrackedFile[]): void {
    this.#connection.write(() => {
      this.#run("DELETE FROM files WHERE agent = ? AND run = ?", agent, run);
      for (const file of files) this.#put("files", { ...file, agent, run });
    });
  }

  /** Runs with plain logs from before this time, oldest first. */
  archiveDue(before: string, most: number): ArchiveDue[] {
    const sql = `SELECT agents.task, runs.agent, runs.run, ${NEWEST} AS newest FROM runs JOIN agents ON agents.id = runs.agent
      WHERE runs.archive_from <= ? ORDER BY runs.archive_from LIMIT ?`;
    return this.#all(sql, before, most).map(({ task, agent, run, newest }) => ({
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
    return this.#connection.write(() => {
      const of = "SELECT runs.agent FROM runs JOIN agents ON agents.id = runs.agent WHERE agents.task = ?";
      const live = new Set(this.#all(`${of} AND ${LIVE}`, task).map((row) => row["agent"]));
      const others = this.#all(of, task).some((row) => !agents.includes(row["agent"] as AgentId));
      if (agents.some((agent) => live.has(agent)) || (whole && others)) return false;
      for (const agent of agents) {
        for (const table of ["runs", "files", "reports", "cursors", "summaries"])
          this.#run(`DELETE FROM ${table} WHERE agent = ?`, agent);
        this.#run("DELETE FROM agents WHERE id = ?", agent);
      }
      if (whole) this.#run("DELETE FROM tasks WHERE id = ?", task);
      return true;
    });
  }

  /** Puts rows that were read from the folders beside those that are here. */
  putBack(contents: Contents): void {
    this.#connection.write(() => this.#putContents(contents));
  }

  /** Removes a reserved run whose folder never came to be, and its agent when no run is left. */
  deleteRun(agent: AgentId, run: number): void {
    this.#connection.write(() => {
      this.#run("DELETE FROM runs WHERE agent = ? AND run = ?", agent, run);
      for (const table of ["files", "cursors", "summaries"])
        this.#run(`DELETE FROM ${table} WHERE agent = ? AND run = ?`, agent, run);
      this.#run("DELETE FROM agents WHERE id = ? AND NOT EXISTS (SELECT 1 FROM runs WHERE agent = agents.id)", agent);
      this.#run("DELETE FROM reports WHERE agent = ? AND NOT EXISTS (SELECT 1 FROM agents WHERE id = ?)", agent, agent);
    });
  }

  /**
   * Replaces the contents by what was read from the folders. Rows created at or after `keepSince` (when that reading
   * began) stay, because the reading may have missed them.
   */
  rebuild(contents: Contents, keepSince: string = iso()): void {
    this.#connection.write(() => {
      this.#run(
        "DELETE FROM files WHERE (agent, run) IN (SELECT agent, run FROM runs WHERE created_at < ?)",
        keepSince,
      );
      this.#run("DELETE FROM runs WHERE created_at < ?", keepSince);
      this.#run(
        "DELETE FROM agents WHERE created_at < ? AND NOT EXISTS (SELECT 1 FROM runs WHERE agent = agents.id)",
        keepSince,
      );
      this.#run("DELETE FROM tasks WHERE created_at < ?", keepSince);
      this.#run("DELETE FROM reports");
      this.#run("DELETE FROM summaries");
      this.#putContents(contents);
      this.#run("INSERT OR REPLACE INTO meta (key, value) VALUES ('built_at', ?)", iso());
    });
  }

  /** Newest first. */
  tasks(): TaskRow[] {
    return this.#all("SELECT * FROM tasks ORDER BY created_at DESC, id").map((row) => readRow("tasks", row));
  }

  task(id: TaskId): TaskRow | undefined {
    const row = this.#all("SELECT * FROM tasks WHERE id = ?", id)[0];
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

  /** One agent with its newest run. */
  get(agent: AgentId): Listed | undefined {
    return this.#listed(`runs.agent = ? AND ${NEWEST}`, [agent])[0];
  }

  /** Agents started by this one, each with its newest run. */
  children(parent: AgentId): Listed[] {
    return this.#listed(`agents.parent = ? AND ${NEWEST} ORDER BY runs.created_at, runs.agent`, [parent]);
  }

  /** Every run that began or was still going at or after this time. */
  runsSince(since: string): Listed[] {
    return this.#listed("coalesce(runs.ended_at, '9999') >= ? ORDER BY runs.created_at, runs.agent", [since]);
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
    return this.#all(sql).map(({ phase, outcome, n, bytes }) => ({
      phase: phase as Phase,
      outcome: outcome as Outcome | null,
      runs: Number(n),
      bytes: Number(bytes),
    }));
  }

  /** Every run of an agent, first to newest. */
  runsOf(agent: AgentId): RunRow[] {
    return this.#all("SELECT * FROM runs WHERE agent = ? ORDER BY run", agent).map((row) => readRow("runs", row));
  }

  filesOf(agent: AgentId, run: number): TrackedFile[] {
    const rows = this.#all("SELECT * FROM files WHERE agent = ? AND run = ? ORDER BY path", agent, run);
    return rows.map((row) => {
      const { path, kind, bytes, created_at, sha256 } = readRow<FileRow>("files", row);
      return { path, kind, bytes, created_at, sha256 };
    });
  }

  /** Agent ids that begin with `prefix`, at most 10. */
  findByPrefix(prefix: string, most: number = FOUND_MAX): AgentId[] {
    // Ids are ASCII, so everything with the prefix sorts below prefix + DEL.
    const sql = `SELECT id FROM agents WHERE id >= ? AND id < ? ORDER BY id LIMIT ?`;
    return this.#all(sql, prefix, `${prefix}\u007f`, most).map((row) => row["id"] as AgentId);
  }

  /** What SQLite finds wrong in the whole file; empty when it is sound. */
  integrity(): string[] {
    const problems = this.#all("PRAGMA integrity_check(100)").map((row) => String(row["integrity_check"]));
    return problems.filter((problem) => problem !== "ok");
  }

  #checkLimits(agent: AgentRow, run: RunRow, limits: Limits): void {
    if (run.queued === 0)
      refuseAbove("max_agents", limits.max_agents, this.#count(`SELECT count(*) AS n FROM runs WHERE ${BUSY}`) + 1);
    const onTask = this.task(agent.task)?.data["max_agents"];
    if (typeof onTask === "number") {
      const sql = `SELECT count(*) AS n FROM runs JOIN agents ON agents.id = runs.agent WHERE agents.task = ? AND ${LIVE}`;
      refuseAbove("max_task_agents", onTask, this.#count(sql, agent.task) + 1);
    }
    if (agent.parent === null) return;
    const parent = this.#all("SELECT depth FROM agents WHERE id = ?", agent.parent)[0];
    refuseAbove("max_depth", limits.max_depth, parent === undefined ? agent.depth : Number(parent["depth"]) + 1);
    const children = "SELECT count(*) AS n FROM runs JOIN agents ON agents.id = runs.agent WHERE agents.parent = ?";
    refuseAbove("max_children", limits.max_children, this.#count(`${children} AND ${LIVE}`, agent.parent) + 1);
    // Either way: of two that start at once, the later one may be here first.
    const near = `${children} AND abs(runs.created_mono_ms - ?) < ${MINUTE_MS}`;
    const recent = this.#count(near, agent.parent, run.created_mono_ms);
    refuseAbove("child_rate", limits.child_rate, recent + 1);
  }

  #listed(where: string, values: SQLInputValue[]): Listed[] {
    const columns = [
      ...COLUMNS.agents.map((column) => `agents.${column} AS a_${column}`),
      ...COLUMNS.runs.map((column) => `runs.${column} AS r_${column}`),
    ].join(", ");
    const sql = `SELECT ${columns} FROM runs JOIN agents ON agents.id = runs.agent WHERE ${where}`;
    return this.#all(sql, ...values).map((row) => ({
      agent: readRow<AgentRow>("agents", row, "a_"),
      run: readRow<RunRow>("runs", row, "r_"),
    }));
  }

  #insert(table: Table, row: object, id: string): void {
    try {
      this.#prepare(insertSql(table)).run(...valuesOf(table, row));
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      throw new MidwatchError("DUPLICATE_ID", `${id} exists already.`, { cause: error, hint: "Try again." });
    }
  }

  #put(table: Table, row: object): void {
    this.#prepare(upsertSql(table)).run(...valuesOf(table, row));
  }

  #putContents({ tasks, agents, runs, files = [], reports = [], summaries = [] }: Contents): void {
    for (const [table, rows] of Object.entries({ tasks, agents, runs, files, reports, summaries }))
      this.#putAll(table as Table, rows);
  }

  #putAll(table: Table, rows: readonly object[]): void {
    for (const row of rows) this.#put(table, row);
  }

  #run(sql: string, ...values: SQLInputValue[]): void {
    this.#prepare(sql).run(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.#connection.read(() => this.#prepare(sql).all(...values));
  }

  #count(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#all(sql, ...values)[0]?.["n"]);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#connection.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function refuseAbove(limit: LimitKey, most: number, wanted: number): void {
  if (wanted <= most) return;
  const [what, hint] = REFUSALS[limit];
  throw new MidwatchError("REFUSED_LIMIT", `${what} (${limit} is ${most}).`, {
    hint: `${hint}, or raise ${limit}.`,
    // Time alone does not make a deep agent less deep.
    retryable: limit !== "max_depth",
    data: { limit, most, wanted },
  });
}

type LimitKey = keyof Limits | "max_task_agents";

const REFUSALS: Readonly<Record<LimitKey, readonly [what: string, hint: string]>> = {
  max_agents: ["The workspace has as many live agents as it may", "Stop one, or wait until one ends"],
  max_task_agents: ["The task has as many live agents as it may", "Stop one, or wait until one ends"],
  max_depth: ["Agents started by agents are nested too deep", "Start it from an agent further up"],
  max_children: ["The parent has as many live agents as it may", "Stop one of them, or wait until one ends"],
  child_rate: ["The parent has started too many agents within a minute", "Wait a minute"],
};
