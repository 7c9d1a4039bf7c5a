/** The first screen's order: who needs a person, then tasks with their agents as trees. Pure, apart from reading the signals. */

import { computed, signal } from "@preact/signals";
import type { AttentionKind } from "../../../src/core/attention-record.ts";
import { stateOf } from "../../../src/core/state-words.ts";
import { type AgentEntry, entries, type FleetItem, isLive, items, tasks } from "../fleet.ts";
import { byUrgency, needOf } from "../needs.ts";
import { remember, remembered } from "../storage.ts";

export type Show = "all" | "live" | "ended";

export const filter = signal("");
export const show = signal<Show>("all");

const KEY = "midwatch.seen";
/** Ended runs that the person has seen: `agent.run`. */
const seen = signal<ReadonlySet<string>>(new Set(JSON.parse(remembered(KEY) ?? "[]") as string[]));

export function dismiss({ agent, run }: Pick<FleetItem, "agent" | "run">): void {
  seen.value = new Set([...seen.value, `${agent}.${run}`].slice(-500));
  remember(KEY, JSON.stringify([...seen.value]));
}

export interface TreeRow {
  agent: string;
  depth: number;
}

export interface TaskGroup {
  task: string;
  rows: TreeRow[];
}

/** Keeps the last value as long as it says the same: what depends on it need not be drawn again. */
function steady<T>(make: () => T): () => T {
  let last: { text: string; value: T } | undefined;
  return () => {
    const value = make();
    const text = JSON.stringify(value);
    if (last?.text !== text) last = { text, value };
    return last.value;
  };
}

/** Of all agents: a filter narrows the list below, never who needs a person. */
export const needs = computed(
  steady(() => {
    const found: { agent: string; kind: AttentionKind; brief: boolean; since: string }[] = [];
    for (const item of items.value) {
      const need = needOf(item);
      if (need === undefined || (!isLive(item) && seen.value.has(`${item.agent}.${item.run}`))) continue;
      const since = item.ended_at ?? item.summary?.since ?? "";
      found.push({ agent: item.agent, kind: need.kind, brief: need.brief, since });
    }
    found.sort(
      (a, b) => Number(a.brief) - Number(b.brief) || byUrgency(a.kind, b.kind) || (a.since < b.since ? 1 : -1),
    );
    return found.map(({ agent }) => agent);
  }),
);

function matches(item: FleetItem): boolean {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const { agent, role, driver, phase, outcome, verdict, attention, now, task } = item;
  const { word } = stateOf(item);
  const text = [
    ...[agent, role, driver, phase, outcome, word, verdict, attention?.kind, now, task],
    tasks.value.get(task)?.description,
  ]
    .join(" ")
    .toLowerCase()
    .replaceAll("_", " ");
  return words.every((word) => text.includes(word));
}

export const groups = computed(
  steady((): TaskGroup[] => {
    const byTask = new Map<string, FleetItem[]>();
    for (const item of items.value) {
      if (show.value !== "all" && isLive(item) !== (show.value === "live")) continue;
      if (!matches(item)) continue;
      const list = byTask.get(item.task);
      if (list) list.push(item);
      else byTask.set(item.task, [item]);
    }
    return [...byTask]
      .map(([task, of]) => ({ task, live: of.some(isLive), rows: treeOf(of) }))
      .sort((a, b) => Number(b.live) - Number(a.live) || (a.task < b.task ? 1 : -1))
      .map(({ task, rows }) => ({ task, rows }));
  }),
);

/** Children below their parent; one whose parent is not listed stands for itself. */
function treeOf(of: readonly FleetItem[]): TreeRow[] {
  const known = new Set(of.map(({ agent }) => agent));
  const below = new Map<string | null, FleetItem[]>();
  for (const item of of) {
    const parent = item.parent !== null && known.has(item.parent) ? item.parent : null;
    const siblings = below.get(parent);
    if (siblings) siblings.push(item);
    else below.set(parent, [item]);
  }
  const rows: TreeRow[] = [];
  const walk = (parent: string | null, depth: number): void => {
    const here = below.get(parent) ?? [];
    here.sort((a, b) => ((a.started_at ?? "~") < (b.started_at ?? "~") ? -1 : 1));
    for (const { agent } of here) {
      rows.push({ agent, depth });
      walk(agent, depth + 1);
    }
  };
  walk(null, 0);
  return rows;
}

export interface Counts {
  running: number;
  queued: number;
  completed: number;
  failed: number;
  stopped: number;
  tokens: number;
  cost: number;
  /** A part of it is. */
  estimated: boolean;
}

export const counts = computed(
  steady((): Counts => {
    const all = { running: 0, queued: 0, completed: 0, failed: 0, stopped: 0, tokens: 0, cost: 0, estimated: false };
    for (const item of items.value) {
      if (item.queued) all.queued++;
      else if (isLive(item)) all.running++;
      else if (item.outcome === "completed") all.completed++;
      else if (item.outcome === "stopped") all.stopped++;
      else all.failed++;
      all.cost += item.cost_usd ?? 0;
      all.estimated ||= item.cost_estimated;
      const { tokens } = item;
      if (tokens) all.tokens += tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
    }
    return all;
  }),
);

/** What the keyboard goes through: as shown, each once. */
const order = computed(() => {
  const rows = groups.value.flatMap((group) => group.rows.map(({ agent }) => agent));
  return [...new Set([...needs.value, ...rows])];
});

export const selected = signal<string | undefined>(undefined);

export function select(step: number): void {
  const all = order.value;
  const at = selected.value === undefined ? -1 : all.indexOf(selected.value);
  selected.value = all[Math.min(all.length - 1, Math.max(0, at + step))];
  document.querySelector(`[data-agent="${selected.value}"]`)?.scrollIntoView({ block: "nearest" });
}

export function entryOf(agent: string): AgentEntry | undefined {
  return entries.value.get(agent);
}
