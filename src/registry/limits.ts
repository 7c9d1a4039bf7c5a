/** How many agents there may be. Asked within the transaction that adds one, so that no two callers pass the same limit. */
import type { Config } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { BUSY, LIVE } from "./live.ts";
import { type AgentRow, type RunRow, readRow, type TaskRow } from "./rows.ts";
import type { Statements } from "./statements.ts";

export interface Limits extends Pick<Config, "max_agents" | "max_depth" | "max_children" | "child_rate"> {
  /** The companion: it takes nobody's place. */
  besides?: AgentId | undefined;
}

const MINUTE_MS = 60_000;

/** Throws REFUSED_LIMIT. */
export function checkLimits(db: Statements, agent: AgentRow, run: RunRow, limits: Limits): void {
  if (run.queued === 0 && run.agent !== limits.besides)
    refuseAbove("max_agents", limits.max_agents, countBusy(db, limits.besides) + 1);
  const [task] = db.all("SELECT * FROM tasks WHERE id = ?", agent.task);
  const onTask = task && readRow<TaskRow>("tasks", task).data["max_agents"];
  if (typeof onTask === "number") {
    const sql = `SELECT count(*) AS n FROM runs JOIN agents ON agents.id = runs.agent WHERE agents.task = ? AND ${LIVE}`;
    refuseAbove("max_task_agents", onTask, db.count(sql, agent.task) + 1);
  }
  if (agent.parent === null) return;
  const parent = db.all("SELECT depth FROM agents WHERE id = ?", agent.parent)[0];
  refuseAbove("max_depth", limits.max_depth, parent === undefined ? agent.depth : Number(parent["depth"]) + 1);
  const children = "SELECT count(*) AS n FROM runs JOIN agents ON agents.id = runs.agent WHERE agents.parent = ?";
  refuseAbove("max_children", limits.max_children, db.count(`${children} AND ${LIVE}`, agent.parent) + 1);
  // Either way: of two that start at once, the later one may be here first.
  const near = `${children} AND abs(runs.created_mono_ms - ?) < ${MINUTE_MS}`;
  const recent = db.count(near, agent.parent, run.created_mono_ms);
  refuseAbove("child_rate", limits.child_rate, recent + 1);
}

export function countBusy(db: Statements, besides: AgentId | undefined): number {
  return db.count(`SELECT count(*) AS n FROM runs WHERE ${BUSY} AND runs.agent <> ?`, besides ?? "");
}

function refuseAbove(limit: LimitKey, most: number, wanted: number): void {
  if (wanted <= most) return;
  const [what, hint] = REFUSALS[limit];
  throw new MidwatchError("REFUSED_LIMIT", `${what} (${limit} is ${most}).`, {
    hint: `${hint}, or raise ${limit}.`,
    // Time alone does not make a deep agent less deep.
    retryable: limit !== "max_depth",
    data: { limit, most, wanted },
  });
}

type LimitKey = Exclude<keyof Limits, "besides"> | "max_task_agents";

const REFUSALS: Readonly<Record<LimitKey, readonly [what: string, hint: string]>> = {
  max_agents: ["The workspace has as many live agents as it may", "Stop one, or wait until one ends"],
  max_task_agents: ["The task has as many live agents as it may", "Stop one, or wait until one ends"],
  max_depth: ["Agents started by agents are nested too deep", "Start it from an agent further up"],
  max_children: ["The parent has as many live agents as it may", "Stop one of them, or wait until one ends"],
  child_rate: ["The parent has started too many agents within a minute", "Wait a minute"],
};
