/**
 * All agents, live. Each has a signal of its own, so that a change of one touches one row; what arrives is gathered and applied
 * once in a while, however busy the agents are.
 */

import { batch, computed, type Signal, signal } from "@preact/signals";
import type { TaskFact } from "../../src/core/intent.ts";
import { isOver } from "../../src/core/phase.ts";
import type { AgentSummary } from "../../src/core/summary.ts";
import type { ListRecord } from "../../src/core/types.ts";
import { get, type Items } from "./api.ts";
import { subscribe } from "./live.ts";

export interface FleetItem extends Omit<ListRecord, "agent" | "task" | "parent"> {
  agent: string;
  task: string;
  parent: string | null;
  /** What it does now, in a line. */
  now?: string | null;
  /** Bytes a second that it prints. */
  rate?: number;
  summary?: Partial<AgentSummary> | null;
}

export interface AgentEntry {
  readonly agent: string;
  readonly item: Signal<FleetItem>;
  /** The last rates, oldest first; for the sparkline. */
  readonly rates: Signal<readonly number[]>;
}

const APPLY_MS = 120;
const SAMPLE_MS = 2000;
/** Not all at once: hundreds of lines drawn in one go would be felt. */
const SAMPLE_PARTS = 20;
const SAMPLES = 32;

/** Replaced when one comes or goes, not when one changes. */
export const entries = signal<ReadonlyMap<string, AgentEntry>>(new Map());
/** The first whole list is here. */
export const loaded = signal(false);
export const tasks = signal<ReadonlyMap<string, TaskFact>>(new Map());

let pending = new Map<string, FleetItem | undefined>();
let whole = false;
let timer: ReturnType<typeof setTimeout> | undefined;

export function watchFleet(): void {
  subscribe({ stream: "fleet" }, (message) => {
    if (message.items === undefined) return;
    if (message.whole) {
      whole = true;
      pending = new Map();
    }
    for (const item of message.items as (FleetItem & { gone?: boolean })[])
      pending.set(item.agent, item.gone ? undefined : item);
    if (whole && !loaded.peek()) apply();
    else timer ??= setTimeout(apply, APPLY_MS);
  });
  setInterval(sample, SAMPLE_MS / SAMPLE_PARTS);
}

function apply(): void {
  clearTimeout(timer);
  timer = undefined;
  const changed = pending;
  pending = new Map();
  batch(() => {
    const old = entries.peek();
    const now = new Map(whole ? [] : old);
    for (const [agent, item] of changed) {
      if (item === undefined) now.delete(agent);
      else now.set(agent, put(old.get(agent), item));
    }
    const same = now.size === old.size && [...now.keys()].every((agent) => old.has(agent));
    if (!same) entries.value = now;
    whole = false;
    loaded.value = true;
  });
  if ([...changed.values()].some((item) => item && !tasks.peek().has(item.task))) void readTasks();
}

function put(entry: AgentEntry | undefined, item: FleetItem): AgentEntry {
  if (entry === undefined) return { agent: item.agent, item: signal(item), rates: signal([item.rate ?? 0]) };
  entry.item.value = { ...entry.item.peek(), ...item };
  return entry;
}

let part = 0;

/** The line of a silent agent goes down too. */
function sample(): void {
  if (document.hidden) return;
  part = (part + 1) % SAMPLE_PARTS;
  const some = [...entries.peek().values()].filter((_, i) => i % SAMPLE_PARTS === part);
  batch(() => {
    for (const { item, rates } of some) {
      const old = rates.peek();
      const rate = isLive(item.peek()) ? (item.peek().rate ?? 0) : 0;
      if (rate === 0 && old.every((one) => one === 0)) continue;
      rates.value = [...old.slice(1 - SAMPLES), rate];
    }
  });
}

let asked: Promise<void> | undefined;

function readTasks(): Promise<void> {
  asked ??= get<Items<TaskFact>>("tasks")
    .then(({ items }) => {
      tasks.value = new Map(items.map((task) => [task.task, task]));
    })
    .catch(() => undefined)
    .finally(() => {
      setTimeout(() => {
        asked = undefined;
      }, 1000);
    });
  return asked;
}

/** Something of it may still work; one that lost its keeper does. */
export function isLive({ phase }: Pick<FleetItem, "phase">): boolean {
  return !isOver({ phase });
}

/** Every agent as it is now; for lists that depend on all of them. */
export const items = computed(() => [...entries.value.values()].map(({ item }) => item.value));

/** The part of an id that people say: `build` of build-190000-1a2b3c. */
export function shortName(agent: string): string {
  return agent.replace(/-\d{6}-[0-9a-f]{6}$/, "");
}

/** What tells two of one name apart. */
export function idTail(agent: string): string {
  return agent.slice(shortName(agent).length + 1).split("-")[1] ?? "";
}
