/** The tables of spend.db, as migrations. All figures are whole numbers that add up: money is millionths of a dollar. */
import type { Schema } from "../registry/schema.ts";

/** `micros` holds what is estimated too; `unpriced` are tokens whose price nobody knows. */
const FIGURES = `
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    micros INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    unpriced INTEGER NOT NULL`;

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE workspaces (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL
  ) STRICT;
  CREATE TABLE runs (
    n INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    agent TEXT NOT NULL,
    run INTEGER NOT NULL,
    task TEXT NOT NULL,
    labels TEXT NOT NULL,
    told INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    final INTEGER NOT NULL,
    UNIQUE (workspace, agent, run)
  ) STRICT;
  CREATE TABLE totals (
    run INTEGER NOT NULL,
    model TEXT NOT NULL,${FIGURES},
    PRIMARY KEY (run, model)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE points (
    minute INTEGER NOT NULL,
    run INTEGER NOT NULL,
    model TEXT NOT NULL,${FIGURES},
    PRIMARY KEY (minute, run, model)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX points_of ON points (run);
  `,
];

export const LEDGER: Schema = {
  what: "ledger of spend",
  lost: "Agents go on without it; what ended runs of a workspace cost is taken up from their files by `midwatch cost` there.",
  unwritable: "Check the owner and mode of the state folder ($XDG_STATE_HOME/midwatch).",
  migrations: MIGRATIONS,
};
