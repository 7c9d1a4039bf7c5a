/**
 * The part of reading a stream that is the same for every CLI: what each line means is the driver's, what the lines add up to is
 * folded here from its activities. A line is read once and in order; what is not JSON where JSON is due is kept as `unparsed`.
 */
import type { Tokens } from "../core/types.ts";
import type { Activity, SessionUse, StreamReader, StreamResult, Uncosted } from "./driver.ts";
import { type Fields, isFields } from "./fields.ts";

/**
 * A driver's own part. In the result it may set `turns`, `subagents`, `deferred`, `session_use` and, when more work follows an end,
 * `finished`.
 */
export type ReadLine = (line: Fields, result: StreamResult, atMs: number | null) => Activity[];

export function streamReader(readLine: ReadLine, before: SessionUse | null = null): StreamReader {
  // A run that never comes to count passes on what it was given.
  const result = { ...emptyResult(), session_use: before };
  return {
    read(line, atMs = null) {
      const activities = isFields(line) ? readLine(line, result, atMs) : [unparsed(line)];
      for (const activity of activities) fold(result, activity);
      return activities;
    },
    result: () => ({ ...result }),
  };
}

export function emptyResult(): StreamResult {
  return {
    session: null,
    model: null,
    finished: null,
    trouble: null,
    tokens: null,
    session_use: null,
    cost_usd: null,
    costed: [],
    uncosted: [],
    turns: 0,
    tools: 0,
    failed: 0,
    denied: 0,
    denial: null,
    subagents: 0,
    deferred: null,
  };
}

function fold(result: StreamResult, activity: Activity): void {
  switch (activity.kind) {
    case "started":
      result.session = activity.session ?? result.session;
      result.model = activity.model ?? result.model;
      break;
    case "tool":
      result.tools++;
      result.trouble = null;
      break;
    case "said":
    case "thought":
      result.trouble = null;
      break;
    case "permission":
      if (!activity.denied) break;
      result.denied++;
      result.denial ??= { tool: activity.tool, input: activity.input ?? null };
      break;
    case "tool_result":
      if (!activity.ok) result.failed++;
      break;
    case "trouble":
      result.trouble = { trouble: activity.trouble, text: activity.text, resets_at: activity.resets_at };
      break;
    case "usage":
      result.model ??= activity.model;
      result.uncosted = activity.cost_usd === null ? withMore(result, activity) : [];
      result.tokens = activity.tokens;
      if (activity.cost_usd !== null) result.costed = activity.models ?? [];
      result.cost_usd = activity.cost_usd ?? result.cost_usd;
      break;
    case "finished":
      result.finished = { ok: activity.ok, why: activity.why, text: activity.text };
      if (activity.limit !== undefined) result.finished.limit = activity.limit;
      if (activity.ok) result.trouble = null;
      break;
    case "note":
    case "unparsed":
      break;
  }
}

function withMore(
  { uncosted, tokens, model }: StreamResult,
  now: { tokens: Tokens; model: string | null; prompt?: number },
): Uncosted[] {
  const of = now.model ?? model;
  const more = subtractTokens(now.tokens, tokens ?? NO_TOKENS);
  // A price may depend on it, and changes at a whole thousand: so many sums are kept at the most, however many requests there are.
  const prompt = now.prompt === undefined ? undefined : Math.ceil(now.prompt / 1000) * 1000;
  const isSame = (one: Uncosted): boolean => one.model === of && one.prompt === prompt;
  const same = uncosted.find(isSame)?.tokens ?? NO_TOKENS;
  const sum = { model: of, tokens: addTokens(same, more), ...(prompt === undefined ? {} : { prompt }) };
  return [...uncosted.filter((one) => !isSame(one)), sum];
}

export function note(...name: readonly unknown[]): Activity {
  return { kind: "note", name: name.filter((part) => typeof part === "string" && part !== "").join("/") || "unknown" };
}

function unparsed(line: unknown): Activity {
  return { kind: "unparsed", text: typeof line === "string" ? line : (JSON.stringify(line) ?? "") };
}

export const NO_TOKENS: Tokens = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
  };
}

export function subtractTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input - b.input,
    output: a.output - b.output,
    cache_read: a.cache_read - b.cache_read,
    cache_write: a.cache_write - b.cache_write,
  };
}

export function sizeOf(tokens: Tokens): number {
  return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write;
}
