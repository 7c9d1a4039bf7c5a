/** Statements on one connection, each prepared once. */
import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import { MidwatchError } from "../core/errors.ts";
import { type Connection, isDuplicate } from "./connection.ts";
import { insertSql, type Table, upsertSql, valuesOf } from "./rows.ts";

export class Statements {
  readonly #connection: Connection;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** One transaction. */
  write<T>(act: () => T): T {
    return this.#connection.write(act);
  }

  /** How many rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  all(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.#connection.read(() => this.#prepare(sql).all(...values));
  }

  /** The `n` of the only row. */
  count(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.all(sql, ...values)[0]?.["n"]);
  }

  /** Throws DUPLICATE_ID, naming `id`. */
  insert(table: Table, row: object, id: string): void {
    try {
      this.run(insertSql(table), ...valuesOf(table, row));
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      throw new MidwatchError("DUPLICATE_ID", `${id} exists already.`, { cause: error, hint: "Try again." });
    }
  }

  put(table: Table, row: object): void {
    this.run(upsertSql(table), ...valuesOf(table, row));
  }

  putAll(table: Table, rows: readonly object[]): void {
    for (const row of rows) this.put(table, row);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#connection.db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}
