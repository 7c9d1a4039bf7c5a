/**
 * What the hosts of a fleet spend: each tells what its workspace has spent in its day and its week. What the others told is kept in the state folder
 * by the `up` that has heard it, so that whoever starts a run knows it without asking the hub, and also while that is away.
 */
import { iso } from "../core/time.ts";
import { sizeOf } from "../drivers/stream.ts";
import { sha256Of } from "../trust/config-trust.ts";
import type { Context } from "../workspace/context.ts";
import type { Sum } from "./budget-plan.ts";
import { windowOf } from "./window.ts";

interface WindowSpend extends Sum {
  from: string;
  until: string;
}

/** What a host tells of itself. */
export interface HostSpend {
  day: WindowSpend;
  week: WindowSpend;
}

/** heard/<SHA-256>.json */
interface HeardRecord {
  v: 1;
  path: string;
  fleet: string;
  others: Record<string, HostSpend>;
}

const NOTHING: Sum = { usd: 0, estimated_usd: 0, tokens: 0, unpriced: 0 };

export function ownSpend(context: Context, zone: string, nowMs: number = Date.now()): HostSpend | undefined {
  const workspace = context.trust.ownership.id;
  if (workspace === undefined) return undefined;
  const spend = (period: "day" | "week"): WindowSpend => {
    const { fromMs, toMs } = windowOf(period, nowMs, zone);
    const { tokens, ...money } = context.ledger.spent({ workspace, sinceMs: fromMs, untilMs: toMs });
    const { usd, estimated_usd, unpriced } = money;
    return { from: iso(fromMs), until: iso(toMs), usd, estimated_usd, tokens: sizeOf(tokens), unpriced };
  };
  return { day: spend("day"), week: spend("week") };
}

export function keepHeard(context: Context, others: Record<string, HostSpend>): void {
  const { layout, trust, config } = context;
  const record: HeardRecord = { v: 1, path: layout.root, fleet: config.nats_fleet, others };
  trust.state.write("heard", nameOf(context), record);
}

/** Of those whose window is open: a host that is away counts with what it told last. */
export function othersSpend(context: Context, period: "day" | "week", nowMs: number): Sum {
  const { others = {} } = context.trust.state.read<HeardRecord>("heard", nameOf(context)) ?? {};
  const open = Object.values(others)
    .map((one) => one[period])
    .filter(({ from, until }) => Date.parse(from) <= nowMs && nowMs < Date.parse(until));
  return open.reduce(plus, NOTHING);
}

export function plus(one: Sum, other: Sum): Sum {
  return {
    usd: one.usd + other.usd,
    estimated_usd: one.estimated_usd + other.estimated_usd,
    tokens: one.tokens + other.tokens,
    unpriced: one.unpriced + other.unpriced,
  };
}

function nameOf({ layout, config }: Context): string {
  return sha256Of(`heard ${layout.root} ${config.nats_fleet}`);
}
