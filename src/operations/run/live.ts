/**
 * While somebody waits at a terminal: what the agents do, in lines that are drawn anew. Where nobody else watches, the waiting process
 * looks at their logs itself, as `midwatch watch` does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { MidwatchError } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { ListRecord } from "../../core/types.ts";
import type { AgentSummary, Workspace } from "../../fleet/workspace.ts";
import type { Context, Live } from "../operation.ts";
import { Burn, fitting, liveLine } from "./live-text.ts";

const LOOK_MS = 1000;
const DRAW_MS = 500;

/** Shown until `act` has ended; nothing without a terminal. */
export async function whileLive<T>(
  { live, signal }: Pick<Context, "live" | "signal">,
  workspace: Workspace,
  agents: readonly AgentId[],
  act: () => Promise<T>,
): Promise<T> {
  if (live === undefined) return await act();
  const over = new AbortController();
  const showing = show(live, workspace, agents, AbortSignal.any([signal, over.signal]));
  try {
    return await act();
  } finally {
    over.abort();
    await showing;
    live.clear();
  }
}

async function show(live: Live, workspace: Workspace, agents: readonly AgentId[], over: AbortSignal): Promise<void> {
  const burn = new Burn();
  const look = looker(workspace, agents);
  let seen: Seen[] = [];
  for (let lookAt = performance.now(); !over.aborted; await pause(DRAW_MS, over)) {
    if (performance.now() >= lookAt) {
      seen = await look().catch((error: unknown) => kept(error, seen));
      lookAt = performance.now() + LOOK_MS;
    }
    if (over.aborted) return;
    const nowMs = Date.now();
    const lines = seen.map(({ record, said }) => {
      const rate = burn.rate(record.agent, said?.cost_usd ?? null, nowMs);
      return liveLine(record, said ?? null, rate, nowMs, live.width);
    });
    if (lines.length > 0) live.show(fitting(lines, live.height));
  }
}

/** Trouble with the look is no trouble of the waiting. */
function kept(error: unknown, seen: Seen[]): Seen[] {
  if (error instanceof MidwatchError) return seen;
  throw error;
}

interface Seen {
  record: ListRecord;
  said: AgentSummary | undefined;
}

function looker(workspace: Workspace, agents: readonly AgentId[]): () => Promise<Seen[]> {
  const wanted = new Set(agents);
  const watch = workspace.verdicts.rounds();
  return async () => {
    if (!(await workspace.journal.isHoused())) await watch.round({ only: wanted });
    const records = (await workspace.runs.list()).filter(({ agent }) => wanted.has(agent));
    return records.map((record) => ({ record, said: workspace.verdicts.stored(record.agent, record.run) }));
  };
}

async function pause(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over }).catch(() => undefined);
}
