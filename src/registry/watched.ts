/**
 * How far logs were read, and what was made of it: the two change in one transaction, so a reader that dies has either done both or
 * neither. What is stored is a function of the log up to the offset. So a reader that goes over the same lines again stores the same,
 * and one that is behind another stores nothing.
 */
import type { SQLInputValue } from "node:sqlite";
import type { AgentId } from "../core/ids.ts";
import type { Verdict } from "../core/types.ts";
import { type CursorRow, readRow, type SummaryRow, upsertSql, valuesOf } from "./rows.ts";
import type { Statements } from "./statements.ts";

const ROWS_AT_ONCE = 10;

/** One reader's news of one run. `told` is taken over from what is stored. */
export interface Watching {
  cursor: CursorRow;
  summary: Omit<SummaryRow, "told">;
  verdict: Verdict;
}

export class Watched {
  readonly #db: Statements;

  constructor(db: Statements) {
    this.#db = db;
  }

  cursor(agent: AgentId, log: string, run = 0): CursorRow | undefined {
    const [row] = this.#db.all("SELECT * FROM cursors WHERE agent = ? AND log = ? AND run = ?", agent, log, run);
    return row && readRow("cursors", row);
  }

  cursors(): CursorRow[] {
    return this.#db.all("SELECT * FROM cursors ORDER BY agent, log, run").map((row) => readRow("cursors", row));
  }

  putCursors(rows: readonly CursorRow[]): void {
    if (rows.length === 0) return;
    this.#db.write(() => {
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
        const some = rows.slice(at, at + ROWS_AT_ONCE);
        const values: SQLInputValue[] = [];
        for (const row of some) values.push(...valuesOf("cursors", row));
        this.#db.run(upsertSql("cursors", some.length), ...values);
      }
    });
  }

  /** Of one log, of all logs of an agent, or every one there is. */
  removeCursors(agent?: AgentId, log?: string): void {
    const where = [
      ...(agent === undefined ? [] : [["agent = ?", agent] as const]),
      ...(log === undefined ? [] : [["log = ?", log] as const]),
    ];
    const sql = `DELETE FROM cursors${where.length > 0 ? ` WHERE ${where.map(([term]) => term).join(" AND ")}` : ""}`;
    this.#db.write(() => this.#db.run(sql, ...where.map(([, value]) => value)));
  }

  /** Stores what is at least as far as what is there. A final summary needs no place any more. */
  commit(all: readonly Watching[]): void {
    if (all.length === 0) return;
    this.#db.write(() => {
      for (const { cursor, summary, verdict } of all) {
        const { agent, run } = summary;
        const [before] = this.#db.all("SELECT told, final FROM summaries WHERE agent = ? AND run = ?", agent, run);
        if (before?.["final"] === 1 && summary.final === 0) continue;
        const there = this.cursor(agent, cursor.log, run);
        if (there !== undefined && isBehind(cursor, there)) continue;
        if (summary.final === 1) this.#db.run("DELETE FROM cursors WHERE agent = ? AND run = ?", agent, run);
        else this.#db.put("cursors", cursor);
        this.#db.put("summaries", { ...summary, told: before?.["told"] ?? null });
        this.#db.run("UPDATE runs SET verdict = ? WHERE agent = ? AND run = ?", verdict, agent, run);
      }
    });
  }

  /** Files and journal have heard of these. */
  markTold(all: readonly Pick<SummaryRow, "agent" | "run" | "id">[]): void {
    if (all.length === 0) return;
    this.#db.write(() => {
      const mark = "UPDATE summaries SET told = ? WHERE agent = ? AND run = ?";
      for (const { agent, run, id } of all) this.#db.run(mark, id, agent, run);
    });
  }

  /** What was stored and not told: its writer died in between, or is about to. */
  untold(): SummaryRow[] {
    return this.#db.all("SELECT * FROM summaries WHERE told IS NOT id").map((row) => readRow("summaries", row));
  }

  summary(agent: AgentId, run: number): SummaryRow | undefined {
    const [row] = this.#db.all("SELECT * FROM summaries WHERE agent = ? AND run = ?", agent, run);
    return row && readRow("summaries", row);
  }

  /** Whose summaries are of this time or later, oldest first. It reads none of the others. */
  summariesSince(time: string): { agent: AgentId; run: number; at: string }[] {
    const at = "data ->> 'timestamp'";
    return this.#db
      .all(`SELECT agent, run, ${at} AS at FROM summaries WHERE ${at} >= ? ORDER BY ${at}, agent, run`, time)
      .map((row) => ({ agent: row["agent"] as AgentId, run: Number(row["run"]), at: String(row["at"]) }));
  }

  /** Lines that were read of all runs, and how many of them should be JSON and are not. */
  linesRead(): { lines: number; bad: number } {
    const sum = (path: string): string => `total(data ->> '$.${path}')`;
    const [row] = this.#db.all(`SELECT ${sum("position.line")} AS lines, ${sum("bad_lines")} AS bad FROM summaries`);
    return { lines: Number(row?.["lines"]), bad: Number(row?.["bad"]) };
  }

  summaries(): SummaryRow[] {
    return this.#db.all("SELECT * FROM summaries ORDER BY agent, run").map((row) => readRow("summaries", row));
  }
}

function isBehind(one: CursorRow, other: CursorRow): boolean {
  return one.generation < other.generation || (one.generation === other.generation && one.offset < other.offset);
}
