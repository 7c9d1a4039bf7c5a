/** When the watch looks: at an agent that begins or prints within a second of it, at all of them each `watch_poll`. */

import { type FSWatcher, watch } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type AgentId, isAgentId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import type { AgentSummary } from "../core/summary.ts";
import { parseActiveMark } from "../disk/layout.ts";
import type { Observed } from "../facts/observe.ts";
import type { Streams } from "../stream/streams.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { SecondOpinions } from "./opinion/second-opinions.ts";
import { Watch } from "./watch.ts";

/** A watch is a resource of the kernel that others need too. */
const FOLDERS_MAX = 256;
const GATHER_MS = 1000;

export interface WatchRounds extends Disposable {
  /** What was read, for others of this process. */
  streams: Streams;
  /** A round if one is due; the summaries that were news. `observed`: what a reconcile has just found. */
  next(observed?: readonly Observed[]): Promise<AgentSummary[]>;
  wait(signal: AbortSignal): Promise<void>;
}

/** `tell` is for a person: what keeps a model from being asked. */
export function watchRounds(context: Context, tell: (text: string) => void): WatchRounds {
  const { layout, config } = context;
  const folders = new Map<string, FSWatcher>();
  const printed = new Set<AgentId>();
  // What a model said is as good a reason to look as what the agent said.
  const opinions = SecondOpinions.open(context, tell, ({ agent }) => printed.add(agent));
  const rounds = new Watch(context, opinions);
  const seen = new Map<string, string>();
  /** An agent has begun: its folder is to be followed too. */
  let arrived = false;
  let allAt = 0;
  /** How long the last round took, when there is more to read at once. */
  let behindMs: number | null = null;

  const follow = (): void => {
    const live = withReader(context, (registry) => registry.list());
    const wanted = new Set(live.map(({ agent }) => layout.task(agent.task).logs));
    for (const [folder, watcher] of folders) if (folder !== layout.active && !wanted.has(folder)) drop(folder, watcher);
    look(layout.active, (name) => {
      const mark = parseActiveMark(name);
      if (mark === undefined) return;
      arrived = true;
      printed.add(mark.agent);
    });
    for (const folder of wanted)
      look(folder, (name) => {
        const agent = /^(.+)_stream\.jsonl$/.exec(name)?.[1];
        if (isAgentId(agent)) printed.add(agent);
      });
    arrived = false;
  };
  const look = (folder: string, changed: (name: string) => void): void => {
    if (folders.has(folder) || folders.size >= FOLDERS_MAX) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => changed(name ?? ""));
      watcher.on("error", () => drop(folder, watcher));
      folders.set(folder, watcher);
    } catch {
      // No folder yet, or no watches left: the poll is enough.
    }
  };
  const drop = (folder: string, watcher: FSWatcher): void => {
    watcher.close();
    folders.delete(folder);
  };

  return {
    streams: rounds.streams,
    async next(observed) {
      const due = performance.now() >= allAt;
      for (const { agent, row, left } of observed ?? []) if (!left && isOver(row)) printed.add(agent);
      if (!due && printed.size === 0) return [];
      if (due || arrived) follow();
      const only = due ? undefined : new Set(printed);
      printed.clear();
      const begun = performance.now();
      const { summaries, more, again } = await rounds.round({ only, observed });
      for (const agent of again) printed.add(agent);
      behindMs = more ? performance.now() - begun : null;
      allAt = more ? 0 : due ? performance.now() + config.watch_poll : allAt;
      return summaries.filter(({ instance_id: agent, run, id, second_opinion: opinion }) => {
        const now = `${id} ${opinion?.at ?? ""}`;
        const before = seen.get(`${agent}.${run}`);
        seen.set(`${agent}.${run}`, now);
        return before !== now;
      });
    },
    async wait(signal) {
      // A flood is followed without waiting, and yet takes no more than half of a core.
      await sleep(Math.min(GATHER_MS, behindMs ?? GATHER_MS), undefined, { signal }).catch(() => undefined);
    },
    [Symbol.dispose]() {
      opinions?.[Symbol.dispose]();
      for (const [folder, watcher] of folders) drop(folder, watcher);
    },
  };
}
