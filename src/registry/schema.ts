/** The tables, as migrations. The registry is an index: a change that would be hard to migrate may simply rebuild it. */
import type { DatabaseSync } from "node:sqlite";

/** What a database of ours holds, for its connection. */
export interface Schema {
  /** For errors: the registry. */
  what: string;
  /** What becomes of one that is damaged or taken away, and what a person can do. */
  lost: string;
  /** What to do about one that cannot be written. */
  unwritable: string;
  /** Entry n brings a database from version n to n + 1. Entries are never changed once released. */
  migrations: readonly string[];
}

const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    created_at TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    driver TEXT NOT NULL,
    role TEXT,
    name TEXT,
    parent TEXT,
    depth INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE runs (
    agent TEXT NOT NULL,
    run INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    phase TEXT NOT NULL,
    outcome TEXT,
    guarantee TEXT,
    verdict TEXT,
    alive TEXT,
    hold TEXT,
    pid INTEGER,
    keeper_pid INTEGER,
    log TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    last_output_at TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT,
    exit_code INTEGER,
    exit_signal TEXT,
    tokens TEXT,
    cost_usd REAL,
    PRIMARY KEY (agent, run)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_live ON runs (phase) WHERE phase NOT IN ('drained', 'archived', 'launch_failed');
  CREATE TABLE files (
    agent TEXT NOT NULL,
    run INTEGER NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    bytes INTEGER,
    created_at TEXT,
    sha256 TEXT,
    PRIMARY KEY (agent, run, path)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE agents ADD COLUMN model TEXT;
  ALTER TABLE agents ADD COLUMN labels TEXT;
  ALTER TABLE agents ADD COLUMN capability TEXT;
  ALTER TABLE runs ADD COLUMN reason TEXT;
  ALTER TABLE runs ADD COLUMN session TEXT;
  ALTER TABLE runs ADD COLUMN queued INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN turn_mono_ms INTEGER;
  ALTER TABLE runs ADD COLUMN created_mono_ms INTEGER;
  CREATE TABLE reports (
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (agent, kind)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE runs ADD COLUMN archive_from TEXT;
  UPDATE runs SET archive_from = ended_at WHERE phase = 'drained';
  CREATE INDEX runs_archive ON runs (archive_from) WHERE archive_from IS NOT NULL;
  `,
  `
  ALTER TABLE runs ADD COLUMN model TEXT;
  CREATE INDEX runs_ended ON runs (ended_at);
  CREATE TABLE cursors (
    agent TEXT NOT NULL,
    log TEXT NOT NULL,
    run INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    line INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    file TEXT,
    missed_bytes INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (agent, log, run)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE summaries (
    agent TEXT NOT NULL,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    told TEXT,
    final INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (agent, run)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX summaries_untold ON summaries (agent) WHERE told IS NOT id;
  `,
  "CREATE INDEX summaries_at ON summaries (data ->> 'timestamp')",
  "ALTER TABLE runs ADD COLUMN unsettled TEXT",
  "ALTER TABLE runs ADD COLUMN spent TEXT",
  "ALTER TABLE runs ADD COLUMN passed TEXT",
];

export const REGISTRY: Schema = {
  what: "registry",
  lost: "Nothing is lost, it is an index: `midwatch doctor --rebuild` makes it again from the folders.",
  unwritable: "Check the owner and mode of the workspace, or use --workspace DIR with another one.",
  migrations: MIGRATIONS,
};

/** 0 for a database without our tables. */
export function schemaVersion(db: DatabaseSync): number {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'meta'").get();
  if (table === undefined) return 0;
  const row = db.prepare("SELECT value FROM meta WHERE key = 'schema_version'").get();
  return Number(row?.["value"] ?? 0);
}

/** To be called inside a write transaction. */
export function migrate(db: DatabaseSync, { migrations }: Schema): void {
  for (const step of migrations.slice(schemaVersion(db))) db.exec(step);
  db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)").run(String(migrations.length));
}
