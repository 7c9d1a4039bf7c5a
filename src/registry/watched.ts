/**
 * How far logs were read, and what was made of it: the two change in one transaction, so a reader that dies has either done both or
 * neither. What is stored is a function of the log up to the offset. So a reader that goes over the same lines again stores the same,
 * and one that is behind another stores nothing.
 */
import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { AgentId } from "../core/ids.ts";
import type { Verdict } from "../core/types.ts";
import type { Connection } from "./connection.ts";
import { type CursorRow, readRow, type SummaryRow, upsertSql, valuesOf } from "./rows.ts";

const ROWS_AT_ONCE = 10;

/** One reader's news of one run. `told` is taken over from what is stored. */
export interface Watching {
  cursor: CursorRow;
  summary: Omit<SummaryRow, "told">;
  verdict: Verdict;
}

export class Watched {
  readonly #connection: Connection;
  readonly #statements = new Map<string, StatementSync>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  cursor(agent: AgentId, log: string, run = 0): CursorRow | undefined {
    const [row] = this.#all("SELECT * FROM cursors WHERE agent = ? AND log = ? AND run = ?", agent, log, run);
    return row && readRow("cursors", row);
  }

  cursors(): CursorRow[] {
    return this.#all("SELECT * FROM cursors ORDER BY agent, log, run").map((row) => readRow("cursors", row));
  }

  putCursors(rows: readonly CursorRow[]): void {
    if (rows.length === 0) return;
    this.#connection.write(() => {
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
        const some = rows.slice(at, at + ROWS_AT_ONCE);
        const values: SQLInputValue[] = [];
        for (const row of some) values.push(...valuesOf("cursors", row));
        this.#prepare(upsertSql("cursors", some.length)).run(...values);
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
    this.#connection.write(() => this.#prepare(sql).run(...where.map(([, value]) => value)));
  }

  /** Stores what is at least as far as what is there. A final summary needs no place any more. */
  commit(all: readonly Watching[]): void {
    if (all.length === 0) return;
    this.#connection.write(() => {
      for (const { cursor, summary, verdict } of all) {
        const { agent, run } = summary;
        const [before] = this.#all("SELECT told, final FROM summaries WHERE agent = ? AND run = ?", agent, run);
        if (before?.["final"] === 1 && summary.final === 0) continue;
        const there = this.cursor(agent, cursor.log, run);
        if (there !== undefined && isBehind(cursor, there)) continue;
        if (summary.final === 1) this.#prepare("DELETE FROM cursors WHERE agent = ? AND run = ?").run(agent, run);
        else this.#put("cursors", cursor);
        this.#put("summaries", { ...summary, told: before?.["told"] ?? null });
        this.#prepare("UPDATE runs SET verdict = ? WHERE agent = ? AND run = ?").run(verdict, agent, run);
      }
    });
  }

  /** Files and journal have heard of these. */
  markTold(all: readonly Pick<SummaryRow, "agent" | "run" | "id">[]): void {
    if (all.length === 0) return;
    this.#connection.write(() => {
      const mark = this.#prepare("UPDATE summaries SET told = ? WHERE agent = ? AND run = ?");
      for (const { agent, run, id } of all) mark.run(id, agent, run);
    });
  }

  /** What was stored and not told: its writer died in between, or is about to. */
  untold(): SummaryRow[] {
    return this.#all("SELECT * FROM summaries WHERE told IS NOT id").map((row) => readRow("summaries", row));
  }

  summary(agent: AgentId, run: number): SummaryRow | undefined {
    const [row] = this.#all("SELECT * FROM summaries WHERE agent = ? AND run = ?", agent, run);
    return row && readRow("summaries", row);
  }

  summaries(): SummaryRow[] {
    return this.#all("SELECT * FROM summaries ORDER BY agent, run").map((row) => readRow("summaries", row));
  }

  #put(table: "cursors" | "summaries", row: object): void {
    this.#prepare(upsertSql(table)).run(...valuesOf(table, row));
  }

  #all(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.#connection.read(() => this.#prepare(sql).all(...values));
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

function isBehind(one: CursorRow, other: CursorRow): boolean {
  return one.generation < other.generation || (one.generation === other.generation && one.offset < other.offset);
}
