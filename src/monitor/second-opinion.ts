/** What a model says beside the rules: checked, cut and masked. */
import type { Verdict } from "../core/types.ts";

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
