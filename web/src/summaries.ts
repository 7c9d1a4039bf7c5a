/** What the watch says of each agent, with its evidence; live. */

import { type Signal, signal } from "@preact/signals";
import type { AgentSummary } from "../../src/core/summary.ts";
import { subscribe } from "./live.ts";

const known = new Map<string, Signal<AgentSummary | undefined>>();

/** Of one run; undefined until the watch has looked at it. */
export function summaryOf(agent: string, run: number): Signal<AgentSummary | undefined> {
  const key = `${agent}.${run}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = signal<AgentSummary | undefined>(undefined);
  known.set(key, made);
  return made;
}

export function watchSummaries(): void {
  subscribe({ stream: "summaries" }, ({ items = [] }) => {
    for (const summary of items as AgentSummary[]) summaryOf(summary.instance_id, summary.run).value = summary;
  });
}
