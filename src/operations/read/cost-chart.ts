/** Spend over time as bars of a terminal: a line a stretch, a colour or a fill for each task, model, agent or project. */
import type { CostBucket } from "../../core/cost-record.ts";
import { terminalText } from "../../core/text/terminal-text.ts";
import type { RenderOptions } from "../operation.ts";

const DAY_MS = 24 * 3_600_000;
/** Where there are no colours these tell the groups apart. */
const FILLS = ["█", "▒", "#", "░", "=", "▓", "+", "."];
const COLORS = [36, 33, 35, 32, 34, 31, 96, 90];
const LEAST_BAR = 8;

export function costChart(buckets: readonly CostBucket[], options: RenderOptions, nowMs: number = Date.now()): string {
  const rows = rowsOf(buckets, nowMs);
  const [first] = rows;
  if (first === undefined) return "Nothing was spent in this time.";
  const daily = Date.parse(first.until) - Date.parse(first.since) > DAY_MS / 2;
  const several = rows.some(({ since }) => dayOf(since) !== dayOf(first.since));
  const names = dearestFirst(buckets);
  const lines = rows.map(({ since, parts }) => ({
    label: daily ? dayOf(since) : several ? `${dayOf(since).slice(5)} ${hourOf(since)}` : hourOf(since),
    parts,
    amount: parts.length === 0 ? "" : amountOf(parts),
  }));
  const wide = (of: (line: (typeof lines)[number]) => string): number =>
    Math.max(...lines.map((line) => of(line).length));
  const room = Math.max(LEAST_BAR, options.width - wide(({ label }) => label) - wide(({ amount }) => amount) - 4);
  const most = Math.max(...lines.map(({ parts }) => sumOf(parts)));
  const labels = wide(({ label }) => label);
  const bars = lines.map(({ label, parts, amount }) => {
    const bar = barOf(parts, names, most, room, options.color);
    return `${label.padEnd(labels)}  ${bar}${amount && ` ${amount}`}`.trimEnd();
  });
  return [...bars, "", ...names.map((name, n) => legend(name, n, buckets, options))].join("\n");
}

interface Row {
  since: string;
  until: string;
  parts: CostBucket[];
}

/** Stretches in which nothing was spent are rows too, up to now. */
function rowsOf(buckets: readonly CostBucket[], nowMs: number): Row[] {
  const rows: Row[] = [];
  for (const bucket of buckets) {
    let last = rows.at(-1);
    if (last?.since === bucket.since) {
      last.parts.push(bucket);
      continue;
    }
    const width = Date.parse(bucket.until) - Date.parse(bucket.since);
    // A day may have an hour less or more than the one before.
    while (last !== undefined && Date.parse(bucket.since) - Date.parse(last.until) > width / 2) {
      last = after(last, width);
      rows.push(last);
    }
    rows.push({ since: bucket.since, until: bucket.until, parts: [bucket] });
  }
  for (let last = rows.at(-1); last !== undefined && Date.parse(last.until) < nowMs; last = rows.at(-1))
    rows.push(after(last, Date.parse(last.until) - Date.parse(last.since)));
  return rows;
}

function after({ until }: Row, widthMs: number): Row {
  return { since: until, until: new Date(Date.parse(until) + widthMs).toISOString(), parts: [] };
}

function dearestFirst(buckets: readonly CostBucket[]): string[] {
  const sums = new Map<string, number>();
  for (const { of, cost_usd } of buckets) sums.set(of, (sums.get(of) ?? 0) + cost_usd);
  const names = [...sums].sort(([, a], [, b]) => b - a).map(([of]) => of);
  // By day each bar is its own name: it says nothing more.
  return names.length > FILLS.length ? ["all"] : names;
}

/** Each part ends where the sum up to it lies, so that roundings do not add up. A correction downwards shortens nothing. */
function barOf(
  parts: readonly CostBucket[],
  names: readonly string[],
  most: number,
  room: number,
  color: boolean,
): string {
  let sum = 0;
  let drawn = 0;
  let bar = "";
  for (const [n, name] of names.entries()) {
    for (const { cost_usd } of parts.filter(({ of }) => names.length === 1 || of === name))
      sum += Math.max(0, cost_usd);
    const end = most > 0 ? Math.min(room, Math.round((sum / most) * room)) : 0;
    bar += filled(n, end - drawn, color);
    drawn = end;
  }
  return bar;
}

function filled(n: number, columns: number, color: boolean): string {
  if (columns <= 0) return "";
  if (!color) return (FILLS[n] ?? ".").repeat(columns);
  return `\u001b[${COLORS[n] ?? 37}m${"█".repeat(columns)}\u001b[0m`;
}

function legend(name: string, n: number, buckets: readonly CostBucket[], { color }: RenderOptions): string {
  const own = name === "all" ? buckets : buckets.filter(({ of }) => of === name);
  return `${filled(n, 2, color)} ${terminalText(name)}  ${amountOf(own)}`;
}

function amountOf(parts: readonly CostBucket[]): string {
  const estimated = parts.some(({ estimated_usd }) => estimated_usd !== 0);
  const unknown = parts.some(({ unpriced_tokens }) => unpriced_tokens > 0);
  const usd = parts.reduce((sum, { cost_usd }) => sum + cost_usd, 0);
  if (usd === 0 && unknown) return "unknown";
  return `${estimated ? "~" : ""}${usd < 0 ? "-" : ""}$${Math.abs(usd).toFixed(2)}${unknown ? " + unknown" : ""}`;
}

function sumOf(parts: readonly CostBucket[]): number {
  return parts.reduce((sum, { cost_usd }) => sum + Math.max(0, cost_usd), 0);
}

function dayOf(time: string): string {
  const at = new Date(time);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

function hourOf(time: string): string {
  const at = new Date(time);
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
