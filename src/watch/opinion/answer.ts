/**
 * What a model answered, checked. Types must be right or the answer counts for nothing; texts are cut; a reason stays only when its quote
 * is in the lines that the model was given. What it says of a finding counts only with such a reason.
 */
import { z } from "zod";
import { parseJson } from "../../core/json.ts";
import type { Answer, OpinionReason } from "../../core/summary.ts";
import { oneLine } from "../../core/text/one-line.ts";
import { bothEnds, type DigestLine } from "./digest.ts";

const ACTIVITY_CHARS = 300;
const REASON_CHARS = 200;
const QUOTE_CHARS = 160;
/** A shorter quote is found by chance. */
const QUOTE_LEAST = 8;
const REASONS_MOST = 3;
const KEYWORDS_MOST = 8;

/** Without bounds on lengths: not every provider takes them, and a long text is cut rather than thrown away. */
const RAW = z.object({
  activity: z.string().describe("what the agent is doing, in one or two sentences"),
  status: z.enum(["on_track", "drifting", "off_track", "blocked", "unknown"]),
  confidence: z.number().describe("how sure you are of status, from 0 to 1"),
  reasons: z
    .array(
      z.object({
        text: z.string().describe("one sentence"),
        quote: z.string().describe("words copied from one of the lines, exactly"),
      }),
    )
    .describe("why, if status is not on_track; at most 3"),
  alignment_keywords: z.array(z.string()).describe("words of the task that the lines are about"),
  recommended_action: z.string().describe("what a person could do, one sentence"),
  finding: z
    .enum(["trouble", "no_trouble", "unsure"])
    .optional()
    .describe("only when a finding is given: whether its owner would be right to be called now"),
});

/** What an API that knows of schemas is told. */
export const ANSWER: z.ZodType = RAW;

const CHECKED = RAW.extend({ activity: z.string().trim().min(1), confidence: z.number().min(0).max(1) });

/** The answer, or what is wrong with it in words that the model can be told. */
export function readAnswer(
  text: string,
  lines: readonly DigestLine[],
  task: string,
): { answer: Answer; says: "trouble" | "no_trouble" | null } | { problem: string } {
  const value = parse(text);
  if (value === undefined) return { problem: "it is not JSON" };
  const checked = CHECKED.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    return { problem: `${issue?.path.join(".") || "it"}: ${bothEnds(issue?.message ?? "not valid", REASON_CHARS)}` };
  }
  const {
    activity,
    status,
    confidence,
    reasons,
    alignment_keywords: words,
    recommended_action,
    finding,
  } = checked.data;
  const proofs = reasons.flatMap((reason) => proven(reason, lines)).slice(0, REASONS_MOST);
  return {
    // Without a line that it is in, what it says moves nothing.
    says: finding === undefined || finding === "unsure" || proofs.length === 0 ? null : finding,
    answer: {
      activity: bothEnds(activity, ACTIVITY_CHARS),
      status,
      confidence,
      reasons: proofs,
      alignment_keywords: [...new Set(words.map((word) => bothEnds(word, 40)))]
        .filter((word) => word !== "" && task.toLowerCase().includes(word.toLowerCase()))
        .slice(0, KEYWORDS_MOST),
      recommended_action: bothEnds(recommended_action, REASON_CHARS),
    },
  };
}

function proven({ text, quote }: { text: string; quote: string }, lines: readonly DigestLine[]): OpinionReason[] {
  const words = oneLine(quote);
  if (words.length < QUOTE_LEAST || oneLine(text) === "") return [];
  // The newest one: it is what the agent does now.
  const found = lines.findLast((one) => oneLine(one.text).includes(words));
  if (found === undefined) return [];
  return [{ text: bothEnds(text, REASON_CHARS), quote: bothEnds(quote, QUOTE_CHARS), line: found.line }];
}

/** JSON, also within a fence or with words around it. */
function parse(text: string): unknown {
  const fenced = /```(?:json)?\s*([\s\S]*?)```/i.exec(text)?.[1];
  const braces = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
  return [text, fenced ?? "", braces].map(parseJson).find((value) => typeof value === "object" && value !== null);
}
