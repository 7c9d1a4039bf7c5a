/** What is shown of agents while somebody waits for them: a line each, and how much each spends an hour. Pure. */
import { stateOf, usdText } from "../../core/state-words.ts";
import { oneLine } from "../../core/text/one-line.ts";
import type { ListRecord } from "../../core/types.ts";
import type { AgentSummary } from "../../fleet/workspace.ts";
import { age } from "../render.ts";

/** The rate is that of the last minutes, and not told before so much of them was seen. */
const WINDOW_MS = 300_000;
const LEAST_MS = 10_000;
const HOUR_MS = 3_600_000;

export type Waited = Pick<
  ListRecord,
  "agent" | "phase" | "outcome" | "hold" | "exit" | "alive" | "queued" | "started_at" | "last_output_at"
>;
export type Said = Pick<
  AgentSummary,
  "on_track_status" | "current_activity" | "tokens" | "cost_usd" | "cost_estimated"
>;

interface Point {
  atMs: number;
  usd: number;
}

/** What each agent had cost at which time. */
export class Burn {
  readonly #points = new Map<string, Point[]>();

  /** US dollars an hour; null while that is not known. */
  rate(agent: string, usd: number | null, nowMs: number): number | null {
    if (usd === null) return null;
    const before = this.#points.get(agent) ?? [];
    const points = [...before.filter(({ atMs }) => nowMs - atMs <= WINDOW_MS), { atMs: nowMs, usd }];
    this.#points.set(agent, points);
    const [first] = points;
    if (first === undefined || nowMs - first.atMs < LEAST_MS) return null;
    return (Math.max(0, usd - first.usd) / (nowMs - first.atMs)) * HOUR_MS;
  }
}

export function liveLine(one: Waited, said: Said | null, rate: number | null, nowMs: number, width: number): string {
  const { tokens, cost_usd: usd } = said ?? { tokens: null, cost_usd: null };
  const count = tokens === null ? 0 : tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
  const hourly = rate === null ? "" : ` (${usdText(rate)}/h)`;
  const parts = [
    one.agent,
    stateOf(one).word,
    said?.on_track_status ?? "-",
    ...(tokens === null ? [] : [`${shortCount(count)} tokens`]),
    ...(usd === null ? [] : [`${said?.cost_estimated ? "~" : ""}${usdText(usd)}${hourly}`]),
    `for ${age(one.started_at, nowMs)}`,
    `last output ${age(one.last_output_at, nowMs)}`,
    ...(said === null ? [] : [said.current_activity]),
  ];
  return oneLine(parts.join(" · "), Math.max(1, width - 1));
}

/** As many as there is room for; of the others how many. */
export function fitting(lines: readonly string[], height: number): string[] {
  const room = Math.max(1, height - 1);
  if (lines.length <= room) return [...lines];
  return [...lines.slice(0, room - 1), `and ${lines.length - room + 1} more`];
}

function shortCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
