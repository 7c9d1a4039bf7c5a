/** What runs used, as far as the registry knows: of one that ended what its stream told, else what the watch said last. */
import type { AgentId, TaskId } from "../core/ids.ts";
import type { Tokens } from "../core/types.ts";
import type { RunCost } from "./rows.ts";
import type { Statements } from "./statements.ts";

export interface UsedRow {
  task: TaskId;
  agent: AgentId;
  run: number;
  labels: string[];
  model: string | null;
  tokens: Tokens;
  /** By its CLI. */
  told_usd: number | null;
  spent: RunCost | null;
  ended: boolean;
  /** When it ended, or began. */
  at: string;
}

const NO_TOKENS: Tokens = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

export function readUsed(db: Statements): UsedRow[] {
  const sql = `SELECT agents.task, runs.agent, runs.run, agents.labels, runs.tokens, runs.cost_usd, runs.spent,
      coalesce(runs.model, agents.model) AS model, coalesce(runs.ended_at, runs.created_at) AS at,
      summaries.data ->> 'tokens' AS said_tokens, summaries.data ->> 'model' AS said_model,
      CASE summaries.data ->> 'cost_estimated' WHEN 0 THEN summaries.data ->> 'cost_usd' END AS said_cost
    FROM runs JOIN agents ON agents.id = runs.agent
      LEFT JOIN summaries ON summaries.agent = runs.agent AND summaries.run = runs.run
    WHERE coalesce(runs.tokens, runs.cost_usd, said_tokens) IS NOT NULL`;
  return db.all(sql).map((row) => {
    const ended = row["tokens"] !== null || row["cost_usd"] !== null;
    const tokens = (ended ? row["tokens"] : row["said_tokens"]) as string | null;
    const spent: RunCost | null = row["spent"] === null ? null : JSON.parse(String(row["spent"]));
    const told = ended ? row["cost_usd"] : row["said_cost"];
    return {
      task: row["task"] as TaskId,
      agent: row["agent"] as AgentId,
      run: Number(row["run"]),
      labels: row["labels"] === null ? [] : JSON.parse(String(row["labels"])),
      model: ((ended ? null : row["said_model"]) ?? row["model"]) as string | null,
      tokens: tokens === null ? NO_TOKENS : JSON.parse(tokens),
      told_usd: told === null ? null : Number(told),
      spent,
      ended,
      at: String(row["at"]),
    };
  });
}
