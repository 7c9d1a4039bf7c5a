/**
 * The ledger of what agents cost: spend.db in the state folder, one for all workspaces of this user. A reader of a stream tells what a run
 * has used in all by now; what is new since the last word is stored as a point of that minute, in one transaction, so any number of
 * readers may tell the same run again and again. It is a book, not the truth: nothing of an agent's life waits for it, and what ended
 * runs cost is in their folders too.
 */
import { statSync } from "node:fs";
import { MidwatchError } from "../core/errors.ts";
import type { SpentPart, Tokens } from "../core/types.ts";
import { sizeOf } from "../drivers/stream.ts";
import { Connection, isTakenAway } from "../registry/connection.ts";
import { Statements } from "../registry/statements.ts";
import { FIGURES, type Figures, figuresOf, isNothing, minus, NOTHING, type Spent, toMicros } from "./figures.ts";
import { LEDGER } from "./ledger-schema.ts";
import { type Bucket, type By, type Filter, readFirst, readSeries, readSums, type Sum } from "./ledger-sums.ts";

/** What a run has used by now, all in all. */
export interface RunTotals {
  /** Its id in the state folder, and the folder of the project. */
  workspace: { id: string; project: string };
  task: string;
  agent: string;
  run: number;
  labels: readonly string[];
  parts: readonly SpentPart[];
  /** What its CLI itself has told of its cost by now: who has heard more of it has read further. */
  told_usd: number | null;
  /** It has ended, and this is the whole of it: it takes the place of all estimates. */
  final: boolean;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
/** Points that are older are folded into days. */
const FINE_MS = 400 * DAY_MS;
/** How often one whose file is taken away or damaged looks again. */
const TRIES = 3;

const PLACEHOLDERS = FIGURES.map(() => "?").join(", ");
const ADDED = FIGURES.map((kind) => `${kind} = ${kind} + excluded.${kind}`).join(", ");
const NAMES = FIGURES.join(", ");

export class Ledger {
  readonly #place: () => string;
  readonly #setAside: (path: string) => void;
  #open: { connection: Connection; db: Statements; ino: bigint | undefined } | undefined;
  #busyMs: number | undefined;

  /** `place` gives the path of the file; its folder is there. `setAside` is told where a damaged one was put, by whoever put it there. */
  constructor(place: () => string, setAside: (path: string) => void = () => undefined) {
    this.#place = place;
    this.#setAside = setAside;
  }

  /** For a process that serves others: it waits so long for one that stands still with the write lock. */
  hurry(busyMs: number): void {
    this.#busyMs = busyMs;
    this.close();
  }

  /** Whether anything was new. One that is behind what is stored says nothing: a total never goes back but to the exact one at the end. */
  record(totals: RunTotals, atMs: number = Date.now()): boolean {
    return this.recordAll([{ totals, atMs }]) > 0;
  }

  /** In one transaction; gives how many were news. */
  recordAll(all: readonly { totals: RunTotals; atMs: number }[]): number {
    return this.#use((db) => {
      // Most words are no news: then nobody waits for the lock.
      const news = all.filter(({ totals }) => newsOf(db, totals).news);
      if (news.length === 0) return 0;
      return db.write(() => {
        fold(db);
        return news.filter(({ totals, atMs }) => put(db, totals, atMs)).length;
      });
    });
  }

  /** Runs of this workspace that are in the book, as `agent.run`, each with whether that was the last word; of all agents or of some. */
  known(workspace: string, agents?: readonly string[]): ReadonlyMap<string, boolean> {
    const sql = `SELECT agent || '.' || run AS name, final FROM runs WHERE workspace = (SELECT n FROM workspaces WHERE id = ?1)
      AND (?2 IS NULL OR agent IN (SELECT value FROM json_each(?2)))`;
    const only = agents === undefined ? null : JSON.stringify(agents);
    return this.#use(
      (db) => new Map(db.all(sql, workspace, only).map(({ name, final }) => [String(name), final === 1])),
    );
  }

  /** When the first of it was spent. */
  firstMs(filter: Filter): number | undefined {
    return this.#use((db) => readFirst(db, filter));
  }

  spent(filter: Filter): Spent {
    const [all] = this.#use((db) => readSums(db, filter, undefined));
    const { of: _, ...spent } = all as Sum;
    return spent;
  }

  /** The dearest first. */
  sums(filter: Filter, by: By): Sum[] {
    return this.#use((db) => readSums(db, filter, by));
  }

  /** What was spent in each stretch between two of these times; stretches without any are left out. */
  series(filter: Omit<Filter, "sinceMs" | "untilMs">, edges: readonly number[], by?: By): Bucket[] {
    return this.#use((db) => readSeries(db, filter, edges, by));
  }

  close(): void {
    this.#open?.connection.db.close();
    this.#open = undefined;
  }

  /** One that turns out to be damaged is opened again, which puts it aside and begins a new one. */
  #use<T>(act: (db: Statements) => T): T {
    for (let tries = 1, doubted = false; ; tries++) {
      try {
        return act(this.#get(doubted));
      } catch (error) {
        const corrupt = error instanceof MidwatchError && error.code === "REGISTRY_CORRUPT";
        if (!(corrupt || isTakenAway(error)) || tries >= TRIES) throw error;
        doubted = corrupt;
        this.close();
      }
    }
  }

  #get(doubted: boolean): Statements {
    const path = this.#place();
    if (this.#open !== undefined && (path === ":memory:" || this.#open.ino === inode(path))) return this.#open.db;
    this.close();
    const connection = Connection.open(path, LEDGER, {
      doubted,
      ...(this.#busyMs === undefined ? {} : { busyMs: this.#busyMs }),
    });
    this.#open = { connection, db: new Statements(connection), ino: inode(path) };
    if (connection.movedAside !== undefined) this.#setAside(connection.movedAside);
    return this.#open.db;
  }
}

interface News {
  news: boolean;
  /** Undefined for one that is not in the book yet. */
  row: number | undefined;
  /** What is new of each model. */
  deltas: readonly (readonly [string, Figures])[];
}

/**
 * Of two words about a run the later one is the final one, else the one that has heard more of the CLI's own figures, else the one that
 * knows of more money, else of more tokens. One that was taken up in the middle of a long log may know less than was known before.
 */
function newsOf(db: Statements, totals: RunTotals): News {
  const { workspace, agent, run, parts, final } = totals;
  const sql = `SELECT n, told, tokens, final FROM runs
    WHERE workspace = (SELECT n FROM workspaces WHERE id = ?) AND agent = ? AND run = ?`;
  const [known] = db.all(sql, workspace.id, agent, run);
  const now = figuresOf(parts);
  if (known === undefined) return { news: final || now.size > 0, row: undefined, deltas: [...now] };
  const row = Number(known["n"]);
  const stored = db.all(`SELECT model, ${NAMES} FROM totals WHERE run = ?`, row);
  const before = new Map(stored.map((one) => [String(one["model"]), one as unknown as Figures]));
  const behind =
    Number(known["final"]) - Number(final) ||
    Number(known["told"]) - told(totals) ||
    microsOf(before) - microsOf(now) ||
    Number(known["tokens"]) - tokensOf(parts);
  if (behind > 0 && !final) return { news: false, row, deltas: [] };
  const deltas = [...new Set([...before.keys(), ...now.keys()])]
    .map((model) => [model, minus(now.get(model) ?? NOTHING, before.get(model) ?? NOTHING)] as const)
    .filter(([, figures]) => !isNothing(figures));
  return { news: deltas.length > 0 || behind !== 0, row, deltas };
}

function microsOf(sums: ReadonlyMap<string, Figures>): number {
  return [...sums.values()].reduce((sum, { micros }) => sum + micros, 0);
}

function put(db: Statements, totals: RunTotals, atMs: number): boolean {
  const { news, row, deltas } = newsOf(db, totals);
  if (!news) return false;
  const { told_usd: _, parts, final } = totals;
  const n = row ?? insertRun(db, totals);
  db.run(
    "UPDATE runs SET told = ?, tokens = ?, final = ? WHERE n = ?",
    told(totals),
    tokensOf(parts),
    Number(final),
    n,
  );
  const minute = Math.floor(atMs / MINUTE_MS);
  const add = (table: string, keys: string): string =>
    `INSERT INTO ${table} (${keys}, ${NAMES}) VALUES (${keys.replace(/\w+/g, "?")}, ${PLACEHOLDERS}) ON CONFLICT (${keys}) DO UPDATE SET ${ADDED}`;
  for (const [model, figures] of deltas) {
    const values = FIGURES.map((kind) => figures[kind]);
    db.run(add("totals", "run, model"), n, model, ...values);
    db.run(add("points", "minute, run, model"), minute, n, model, ...values);
  }
  return true;
}

function insertRun(db: Statements, { workspace, task, agent, run, labels }: RunTotals): number {
  const named =
    "INSERT INTO workspaces (id, project) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET project = excluded.project";
  db.run(named, workspace.id, workspace.project);
  const sql = `INSERT INTO runs (workspace, agent, run, task, labels, told, tokens, final)
    VALUES ((SELECT n FROM workspaces WHERE id = ?), ?, ?, ?, ?, 0, 0, 0) RETURNING n`;
  return Number(db.all(sql, workspace.id, agent, run, task, JSON.stringify(labels))[0]?.["n"]);
}

/** Once a day, by whoever writes first. */
function fold(db: Statements): void {
  const today = Math.floor(Date.now() / DAY_MS);
  const [last] = db.all("SELECT value FROM meta WHERE key = 'folded'");
  if (Number(last?.["value"] ?? -1) >= today) return;
  const before = Math.floor((Date.now() - FINE_MS) / DAY_MS) * DAY_MINUTES;
  const fine = `minute < ${before} AND minute % ${DAY_MINUTES} <> 0`;
  const sums = FIGURES.map((kind) => `sum(${kind})`).join(", ");
  db.run(`INSERT INTO points (minute, run, model, ${NAMES})
    SELECT minute / ${DAY_MINUTES} * ${DAY_MINUTES} AS day, run, model, ${sums} FROM points WHERE ${fine} GROUP BY day, run, model
    ON CONFLICT (minute, run, model) DO UPDATE SET ${ADDED}`);
  db.run(`DELETE FROM points WHERE ${fine}`);
  db.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('folded', ?)", String(today));
}

function told({ told_usd }: RunTotals): number {
  return toMicros(told_usd ?? 0);
}

function tokensOf(parts: readonly { tokens: Tokens }[]): number {
  return parts.reduce((sum, { tokens }) => sum + sizeOf(tokens), 0);
}

function inode(path: string): bigint | undefined {
  return path === ":memory:" ? undefined : statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
