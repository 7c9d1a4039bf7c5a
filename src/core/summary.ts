/** What the watch says of an agent: the record of latest_summary.json, of `summary --json` and of MCP. */
import type { AgentId, TaskId } from "./ids.ts";
import type { Tokens, Verdict } from "./types.ts";

export type Level = "none" | "watch" | "alert";

export interface Evidence {
  /** Who says so. */
  source: "rules" | "llm";
  /** A rule of the watch, or "llm". */
  rule: string;
  level: Level;
  about: string;
  value: number;
  threshold: number;
  /** Null for what no line tells. */
  log: { run: number; line_start: number; line_end: number; byte_start: number; byte_end: number } | null;
  quote: string;
}

/** What the watch says of a run: its verdict, the reasons and the lines behind them (docs/summaries.md). */
export interface AgentSummary {
  instance_id: AgentId;
  instance_name: string;
  timestamp: string;
  current_activity: string;
  on_track_status: Verdict;
  confidence_score: number;
  /** On how many labelled runs that was measured; 0: it is assumed. Missing in summaries of 0.1. */
  confidence_cases?: number;
  /** What behaviour shows, and since when: one trouble, however its figures rise. Missing in summaries of 0.1. */
  finding?: { rule: string; line: number; since: string; cost_usd: number | null } | null;
  assigned_task: string;
  parent_instance_id: AgentId | null;
  role: string | null;
  last_tool_used: string | null;
  recent_tools: string[];
  output_preview: string;
  idle_duration_seconds: number | null;
  drift_reasons: string[];
  alignment_keywords: string[];
  recommended_action: string;
  evidence: Evidence[];
  schema_version: 1;
  /** Of the last change; the event `verdict.changed` has the same. */
  id: string;
  task: TaskId;
  run: number;
  level: Level;
  /** What stands in the way of a blocked agent. */
  cause: string | null;
  resets_at: string | null;
  /** When the verdict became what it is. */
  since: string;
  /**
   * Whose word the verdict is: the run's own (`fact`), a rule's that reads behaviour (`rule`), or such a rule's with a model that was asked
   * about it (`rule+model`). Summaries of 0.1 have `rules` and `rules+llm`.
   */
  verdict_source: "fact" | "rule" | "rule+model" | "rules" | "rules+llm";
  /** How far the log was read. */
  position: { offset: number; line: number; checksum: number; missed_bytes: number };
  model: string | null;
  tokens: Tokens | null;
  cost_usd: number | null;
  /** The cost was worked out from tokens and a list of prices. */
  cost_estimated: boolean;
  tools: number;
  /** Lines of its log that should be JSON and are not; missing in summaries of 0.1. */
  bad_lines?: number;
  /** The run has ended and all of its log was read. */
  final: boolean;
  /** The question that it asked when it finished its last turn; missing in summaries of 0.1. */
  asks?: string | null;
  /** Null where no model is asked, or none has answered yet. */
  second_opinion: SecondOpinion | null;
}

export interface OpinionReason {
  text: string;
  quote: string;
  /** The line of the log that holds the quote: looked up, not the model's word. */
  line: number;
}

/** Checked, cut and masked. */
export interface Answer {
  activity: string;
  status: Verdict;
  confidence: number;
  reasons: OpinionReason[];
  alignment_keywords: string[];
  recommended_action: string;
}

export interface SecondOpinion extends Answer {
  source: "llm";
  model: string;
  at: string;
  run: number;
  /** The `id` of the summary that it was asked about. */
  about: string;
  /** The lines that were new to it. */
  line_start: number;
  line_end: number;
}
