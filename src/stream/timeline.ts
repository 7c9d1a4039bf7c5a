/**
 * What happened in a run and where, for a line that a person moves along: phases, tools, trouble, changes of the verdict. Of a long
 * log stretches are read, evenly spread; of many things some are given, evenly too.
 */

import type { AgentId } from "../core/ids.ts";
import type { AgentSummary } from "../core/summary.ts";
import type { Activity } from "../drivers/driver.ts";
import { readFacts } from "../facts/facts.ts";
import { lastReports } from "../facts/last-reports.ts";
import type { Log } from "../log/log.ts";
import type { Context } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import type { LogOf } from "./log-of.ts";
import type { Maskers } from "./maskers.ts";
import { RunLog } from "./run-log.ts";
import { understand } from "./stream-state.ts";

interface Moment {
  /** Null where nobody knows. */
  at: string | null;
  /** The line of the log; null for what no line tells. */
  seq: number | null;
  kind: "phase" | "tool" | "error" | "verdict" | "said" | "finished";
  label: string;
  level: "info" | "warning" | "error";
}

export interface Timeline {
  agent: AgentId;
  run: number;
  items: Moment[];
  /** Not everything is here: the log or the list was too long. */
  thinned: boolean;
}

const MOST = 2000;
const READ_BYTES = 32 << 20;
const STRETCHES = 128;
const VERDICTS = 500;
const LABEL_CHARS = 120;

export async function readTimeline(context: Context, of: LogOf, driverName: string, hide: Maskers): Promise<Timeline> {
  const found = await activities(context, of, driverName, hide);
  const items = [...phases(context, of), ...verdicts(context, of), ...found.items];
  items.sort((a, b) => (a.at === null || b.at === null ? (a.seq ?? 0) - (b.seq ?? 0) : a.at < b.at ? -1 : 1));
  const step = items.length / MOST;
  const kept = step <= 1 ? items : Array.from({ length: MOST }, (_, i) => items[Math.floor(i * step)] as Moment);
  return { agent: of.agent, run: of.run, items: kept, thinned: found.thinned || step > 1 };
}

function phases({ layout }: Context, { task, agent, run }: LogOf): Moment[] {
  const { start, stop, exit, done } = readFacts(layout.run(task, agent, run));
  const phase = (at: string | undefined, label: string): Moment[] =>
    at === undefined ? [] : [{ at, seq: null, kind: "phase", label, level: "info" }];
  return [
    ...phase(start?.started_at, "started"),
    ...phase(stop?.requested_at, "asked to stop"),
    ...phase(exit?.ended_at, exit?.signal ? `ended by ${exit.signal}` : `exited with ${exit?.code ?? "?"}`),
    ...phase(done?.ended_at, done?.verified ? "nothing left" : "something may be left"),
  ];
}

function verdicts({ layout }: Context, { task, agent, run }: LogOf): Moment[] {
  return lastReports<AgentSummary>(layout.agent(task, agent).summaryHistory, VERDICTS)
    .filter((summary) => summary.run === run)
    .map(({ since, on_track_status, cause, position, level }) => ({
      at: since,
      seq: position?.line ?? null,
      kind: "verdict",
      label: cause === null ? on_track_status : `${on_track_status}: ${cause}`,
      level: level === "none" ? "info" : on_track_status === "on_track" ? "info" : "warning",
    }));
}

async function activities(
  context: Context,
  of: LogOf,
  driverName: string,
  hide: Maskers,
): Promise<{ items: Moment[]; thinned: boolean }> {
  const driver = await findDriver(context, driverName);
  using opened = new RunLog(context, of);
  const { log, end } = opened.look();
  if (log === undefined || !driver.json) return { items: [], thinned: false };
  const reader = driver.reader();
  const mask = hide.of(of.agent, of.run);
  const items: Moment[] = [];
  for (const [from, to] of stretches(log, end)) {
    for (const { record } of log.records({ offset: from, line: log.lineAt(from) }, to)) {
      for (const activity of record?.data === undefined ? [] : understand(driver, reader, record, null)) {
        const made = momentOf(activity);
        if (made === undefined) continue;
        const label = mask.text(made.label.replaceAll(/\s+/g, " ").trim()).slice(0, LABEL_CHARS);
        items.push({ at: record?.timestamp ?? null, seq: record?.seq ?? null, ...made, label });
      }
    }
  }
  return { items, thinned: end > READ_BYTES };
}

/** All of it, or stretches that begin at entries of the index. */
function* stretches(log: Log, end: number): Generator<[from: number, to: number]> {
  if (end <= READ_BYTES) return yield [0, end];
  for (let i = 0; i < STRETCHES; i++) {
    const from = log.index.before("offset", Math.floor((end / STRETCHES) * i), log.source).offset;
    if (i === 0 || from > 0) yield [from, Math.min(end, from + READ_BYTES / STRETCHES)];
  }
}

function momentOf(activity: Activity): Pick<Moment, "kind" | "label" | "level"> | undefined {
  switch (activity.kind) {
    case "tool":
      return { kind: "tool", label: activity.name, level: "info" };
    case "tool_result":
      return activity.ok ? undefined : { kind: "error", label: activity.text.slice(0, 500), level: "warning" };
    case "trouble":
      return { kind: "error", label: activity.text.slice(0, 500), level: "error" };
    case "permission":
      return { kind: "error", label: `permission for ${activity.tool}`, level: "warning" };
    case "said":
      return { kind: "said", label: activity.text.slice(0, 500), level: "info" };
    case "finished":
      return { kind: "finished", label: activity.why ?? "done", level: activity.ok ? "info" : "error" };
    default:
      return undefined;
  }
}
