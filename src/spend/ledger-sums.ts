/** What is asked of the ledger: sums over a time, and what was spent in each stretch of it. */
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { addTokens } from "../drivers/stream.ts";
import type { Statements } from "../registry/statements.ts";
import { FIGURES, type Spent, toMicros, toUsd } from "./figures.ts";

/** Whose spend, and of which time; by whole minutes. Nothing given is all there is. */
export interface Filter {
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** An id. */
  workspace?: string | undefined;
  label?: string | undefined;
  agents?: readonly string[] | undefined;
  run?: number | undefined;
}

export type By = "model" | "task" | "agent" | "project";

export interface Sum extends Spent {
  /** Of the model, task, agent or project; `all` when nothing was asked for. */
  of: string;
}

/** What was spent in a stretch of time. It may be less than nothing, where the exact figure at an end corrected an estimate. */
export interface Bucket extends Omit<Sum, "runs" | "unpriced"> {
  sinceMs: number;
  untilMs: number;
  /** Tokens whose price nobody knows. */
  unpricedTokens: number;
}

const MINUTE_MS = 60_000;
/** Offsets of time zones are multiples of this. */
const QUARTER = 15;

const COLUMN: Readonly<Record<By, string>> = {
  model: "found.model",
  task: "runs.task",
  agent: "runs.agent",
  project: "workspaces.project",
};
const NAMED = "JOIN runs ON runs.n = found.run JOIN workspaces ON workspaces.n = runs.workspace";
const ADDED = FIGURES.map((kind) => `sum(${kind}) AS ${kind}`).join(", ");
/** Runs are counted by what remains of their tokens without a price: a price may have come later. */
const OUTER = `${FIGURES.filter((kind) => kind !== "unpriced")
  .map((kind) => `coalesce(sum(${kind}), 0) AS ${kind}`)
  .join(", ")},
  coalesce(sum(unpriced > 0), 0) AS unpriced, count(DISTINCT run) AS runs`;

/** The dearest first; without `by` the one sum of all. */
export function readSums(db: Statements, filter: Filter, by: By | undefined): Sum[] {
  const { where, values } = whereOf(filter);
  // Added up before they are named: points are many, runs and models few. `+`: not in the order of an index, which costs a look a point.
  const found = `SELECT run, model, ${ADDED} FROM points WHERE ${where} GROUP BY +run, +model`;
  const each = `SELECT ${nameOf(by)} AS name, found.run AS run, ${ADDED} FROM (${found}) AS found ${by === undefined ? "" : NAMED} GROUP BY name, found.run`;
  const sql = `SELECT ${by === undefined ? "'all' AS name" : "name"}, ${OUTER} FROM (${each})
    ${by === undefined ? "" : "GROUP BY name ORDER BY micros DESC, input + output DESC, name"}`;
  return db.all(sql, ...values).map((row) => {
    const { unpricedTokens: runsWithout, ...money } = moneyOf(row);
    return { ...money, unpriced: runsWithout, runs: Number(row["runs"]) };
  });
}

export function readFirst(db: Statements, filter: Filter): number | undefined {
  const { where, values } = whereOf(filter);
  const minute = db.all(`SELECT min(minute) AS minute FROM points WHERE ${where}`, ...values)[0]?.["minute"] ?? null;
  return minute === null ? undefined : Number(minute) * MINUTE_MS;
}

/** `edges` ascend: stretch n lies between edge n and edge n + 1, and may be a day of 23 hours. Those without any spend are left out. */
export function readSeries(db: Statements, filter: Filter, edges: readonly number[], by: By | undefined): Bucket[] {
  const [first, last] = [edges[0], edges.at(-1)];
  if (first === undefined || last === undefined || last <= first) return [];
  const { where, values } = whereOf({ ...filter, sinceMs: first, untilMs: last });
  const step = edges.every((edge) => edge % (QUARTER * MINUTE_MS) === 0) ? QUARTER : 1;
  const found = `SELECT minute / ${step} * ${step} AS at, run, model, ${ADDED} FROM points WHERE ${where} GROUP BY at, +run, +model`;
  const sql = `SELECT at, ${nameOf(by)} AS name, ${ADDED} FROM (${found}) AS found ${by === undefined ? "" : NAMED}
    GROUP BY at, name ORDER BY at`;
  const buckets = new Map<string, Bucket>();
  let n = 0;
  for (const row of db.all(sql, ...values)) {
    // The first minute may begin before the first edge.
    while (n + 2 < edges.length && Number(row["at"]) * MINUTE_MS >= (edges[n + 1] as number)) n++;
    const sum = moneyOf(row);
    const key = `${n} ${sum.of}`;
    const before = buckets.get(key);
    const at = { sinceMs: edges[n] as number, untilMs: edges[n + 1] as number };
    buckets.set(key, before === undefined ? { ...at, ...sum } : addBuckets(before, { ...at, ...sum }));
  }
  return [...buckets.values()];
}

function whereOf(filter: Filter): { where: string; values: SQLInputValue[] } {
  const { sinceMs, untilMs, workspace, label, agents, run } = filter;
  const whose: [string, SQLInputValue][] = [];
  if (workspace !== undefined) whose.push(["workspace = (SELECT n FROM workspaces WHERE id = ?)", workspace]);
  if (label !== undefined) whose.push(["EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)", label]);
  if (agents !== undefined) whose.push(["agent IN (SELECT value FROM json_each(?))", JSON.stringify(agents)]);
  if (run !== undefined) whose.push(["runs.run = ?", run]);
  const when: [string, SQLInputValue][] = [];
  if (sinceMs !== undefined) when.push(["minute >= ?", Math.floor(sinceMs / MINUTE_MS)]);
  if (untilMs !== undefined) when.push(["minute < ?", Math.ceil(untilMs / MINUTE_MS)]);
  const own = `run IN (SELECT n FROM runs WHERE ${whose.map(([term]) => term).join(" AND ")})`;
  const terms = [...when.map(([term]) => term), ...(whose.length > 0 ? [own] : ["true"])];
  return { where: terms.join(" AND "), values: [...when, ...whose].map(([, value]) => value) };
}

function nameOf(by: By | undefined): string {
  return by === undefined ? "'all'" : COLUMN[by];
}

type Money = Omit<Bucket, "sinceMs" | "untilMs">;

function moneyOf(row: Record<string, SQLOutputValue>): Money {
  const figure = (name: string): number => Number(row[name]);
  return {
    of: String(row["name"]),
    usd: toUsd(figure("micros")),
    estimated_usd: toUsd(figure("estimated")),
    unpricedTokens: figure("unpriced"),
    tokens: {
      input: figure("input"),
      output: figure("output"),
      cache_read: figure("cache_read"),
      cache_write: figure("cache_write"),
    },
  };
}

/** The first with what the other has more. */
export function addBuckets(a: Bucket, b: Bucket): Bucket {
  const usd = (one: number, other: number): number => toUsd(toMicros(one) + toMicros(other));
  return {
    ...a,
    usd: usd(a.usd, b.usd),
    estimated_usd: usd(a.estimated_usd, b.estimated_usd),
    unpricedTokens: a.unpricedTokens + b.unpricedTokens,
    tokens: addTokens(a.tokens, b.tokens),
  };
}
