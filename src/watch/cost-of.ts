/**
 * What was spent, from the user's ledger; no log is read. What the ledger does not know yet is taken up into it from the registry first.
 * For a workspace that is not ours, or when the ledger cannot be had, one in memory is filled from the registry alone.
 */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { CostBucket, CostBy, CostRecord } from "../core/cost-record.ts";
import { MidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import type { SpentPart } from "../core/types.ts";
import { addTokens } from "../drivers/stream.ts";
import type { Spent } from "../spend/figures.ts";
import { Ledger } from "../spend/ledger.ts";
import { addBuckets, type Bucket } from "../spend/ledger-sums.ts";
import { dayName, days, stretches } from "../spend/stretches.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { spenderOf } from "../workspace/record-spend.ts";
import { readOpinionState } from "./opinion/opinion-state.ts";
import { takeUp } from "./take-up.ts";

export interface CostQuery {
  since?: number | undefined;
  by?: CostBy | undefined;
  /** In all workspaces of this user. */
  everywhere?: boolean | undefined;
}

/** How many stretches a chart has at the most. */
const STRETCHES = 50;
/** Of a chart. */
const GROUPS = 8;
const OTHER = "other";
const DAY_MS = 24 * 3_600_000;

/** The dearest first, or day by day; then what the watch itself used (it is no run), and the sum as the last. */
export function costOf(context: Context, query: CostQuery): CostRecord[] {
  const { since: sinceMs, by = "task", everywhere = false } = query;
  return withLedger(context, (ledger, id) => {
    const filter = { sinceMs, workspace: everywhere ? undefined : id };
    const groups = by === "day" ? byDay(ledger, filter) : ledger.sums(filter, by);
    const watch = opinions(context, sinceMs ?? 0);
    const all = watch.reduce(sum, { ...ledger.spent(filter), of: "all" });
    return [...groups, ...watch, all].map(({ usd: cost_usd, of, runs, tokens, estimated_usd, unpriced }) => {
      const known = cost_usd > 0 || unpriced === 0 ? cost_usd : null;
      return { of, runs, tokens, cost_usd: known, estimated_usd, unpriced, prices_as_of: context.prices.asOf };
    });
  });
}

/** Over time, oldest first; stretches without any spend are left out. By day, each stretch is one. */
export function costSeries(context: Context, query: CostQuery, nowMs: number = Date.now()): CostBucket[] {
  const { since = nowMs - DAY_MS, by = "task", everywhere = false } = query;
  return withLedger(context, (ledger, id) => {
    const workspace = everywhere ? undefined : id;
    const from = Math.max(since, ledger.firstMs({ workspace }) ?? nowMs);
    const edges = by === "day" ? days(from, nowMs) : stretches(Math.max(from, 0), nowMs, STRETCHES);
    const found = ledger.series({ workspace }, edges, by === "day" ? undefined : by);
    const shown = by === "day" ? found.map((one) => ({ ...one, of: dayName(one.sinceMs) })) : withOther(found);
    return shown.map(({ sinceMs, untilMs, of, usd, estimated_usd, tokens, unpricedTokens }) => {
      const money = { cost_usd: usd, estimated_usd, unpriced_tokens: unpricedTokens };
      return { since: iso(sinceMs), until: iso(untilMs), of, tokens, ...money };
    });
  });
}

/** More than a chart can tell apart are one. */
function withOther(buckets: readonly Bucket[]): Bucket[] {
  const sums = new Map<string, number>();
  for (const { of, usd } of buckets) sums.set(of, (sums.get(of) ?? 0) + usd);
  const dearest = [...sums].sort(([, a], [, b]) => b - a).map(([of]) => of);
  const own = new Set(dearest.slice(0, dearest.length > GROUPS ? GROUPS - 1 : GROUPS));
  const others = new Map<number, Bucket>();
  for (const bucket of buckets.filter(({ of }) => !own.has(of))) {
    const before = others.get(bucket.sinceMs);
    others.set(bucket.sinceMs, { ...(before === undefined ? bucket : addBuckets(before, bucket)), of: OTHER });
  }
  return [...buckets.filter(({ of }) => own.has(of)), ...others.values()].sort((a, b) => a.sinceMs - b.sinceMs);
}

type Named = Spent & { of: string };

function byDay(ledger: Ledger, filter: { sinceMs: number | undefined; workspace: string | undefined }): Named[] {
  const first = ledger.firstMs(filter);
  if (first === undefined) return [];
  const edges = days(Math.max(first, filter.sinceMs ?? 0), Date.now());
  return edges.slice(0, -1).flatMap((edge, n) => {
    const sinceMs = Math.max(edge, filter.sinceMs ?? 0);
    const spent = ledger.spent({ ...filter, sinceMs, untilMs: edges[n + 1] });
    return spent.runs === 0 ? [] : [{ ...spent, of: dayName(edge) }];
  });
}

/** What cannot be had is no reason to say nothing: the registry knows what ended runs cost. */
function withLedger<T>(context: Context, act: (ledger: Ledger, workspace: string) => T): T {
  const workspace = spenderOf(context);
  if (workspace !== undefined) {
    try {
      takeUp(context, context.ledger, workspace);
      return act(context.ledger, workspace.id);
    } catch (error) {
      if (!(error instanceof MidwatchError)) throw error;
    }
  }
  const ledger = new Ledger(() => ":memory:");
  try {
    takeUp(context, ledger, { id: "here", project: dirname(context.layout.root) });
    return act(ledger, "here");
  } finally {
    ledger.close();
  }
}

/** What a model that was asked about these agents used, for each agent once. */
function opinions(context: Context, sinceMs: number): Named[] {
  const runs = withReader(context, (registry) => registry.agentsSince(iso(sinceMs)));
  // Most have none: asking for each file that is not there would be felt.
  const asked = runs.filter(({ task, agent }) => existsSync(context.layout.agent(task, agent).secondOpinion));
  const used = asked.map((one) => readOpinionState(context, one).used).filter(({ calls }) => calls > 0);
  const parts = used.map(({ input, output, model }): SpentPart => {
    const tokens = { input, output, cache_read: 0, cache_write: 0 };
    return { model, tokens, usd: context.prices.of(model, tokens), estimated: true };
  });
  const [first, ...others] = parts.map(({ usd, tokens }): Named => {
    const spent = { usd: usd ?? 0, estimated_usd: usd ?? 0, tokens, unpriced: usd === null ? 1 : 0, runs: 0 };
    return { ...spent, of: "second opinion" };
  });
  return first === undefined ? [] : [others.reduce(sum, first)];
}

function sum(a: Named, b: Named): Named {
  return {
    of: a.of,
    runs: a.runs + b.runs,
    usd: a.usd + b.usd,
    estimated_usd: a.estimated_usd + b.estimated_usd,
    tokens: addTokens(a.tokens, b.tokens),
    unpriced: a.unpriced + b.unpriced,
  };
}
