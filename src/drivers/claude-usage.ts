/**
 * Claude Code's tokens. A message is printed once for each content block with the same usage, so usage counts once for a message
 * id and request id, the larger figure winning. A `result` replaces the estimate: `modelUsage` is cumulative over the process and
 * includes sub-agents, `usage` is the last turn's main conversation only.
 */
import type { Tokens } from "../core/types.ts";
import { countOf, type Fields, fieldsOf, isFields, numberOf, textOf } from "./fields.ts";
import { addTokens, NO_TOKENS, sizeOf, subtractTokens } from "./stream.ts";

export interface UsageMeter {
  /** `tokens`: the run's new total, or null when this message changed nothing. `fresh`: the message was not seen before. */
  message(body: Fields, requestId: string | null): { fresh: boolean; tokens: Tokens | null };
  result(line: Fields): Tokens;
  costUsd(): number | null;
  /** The model that did all of the work, when it was one. */
  model(): string | null;
}

interface Total {
  tokens: Tokens;
  cost: number | null;
}

export function claudeUsage(): UsageMeter {
  const open = new Map<string, Tokens>();
  let estimate = NO_TOKENS;
  let told: Total = { tokens: NO_TOKENS, cost: null };
  // `/clear` sets the CLI's own totals back to zero: what they were before is kept here.
  let cleared: Total = { tokens: NO_TOKENS, cost: null };
  let model: string | null = null;

  const total = (): Tokens => addTokens(addTokens(cleared.tokens, told.tokens), estimate);

  return {
    message(body, requestId) {
      const id = textOf(body["id"]);
      const key = `${id ?? ""} ${requestId ?? ""}`;
      const before = open.get(key);
      const usage = isFields(body["usage"]) ? usageTokens(body["usage"]) : NO_TOKENS;
      const fresh = id !== null && before === undefined;
      if (id === null || (before !== undefined && sizeOf(usage) <= sizeOf(before))) return { fresh, tokens: null };
      open.set(key, usage);
      estimate = addTokens(estimate, subtractTokens(usage, before ?? NO_TOKENS));
      return { fresh, tokens: total() };
    },
    result(line) {
      const models = Object.entries(fieldsOf(line["modelUsage"]));
      const cost = numberOf(line["total_cost_usd"]);
      // Without figures for each model, `usage` is this turn's alone and is added to what earlier turns told.
      const tokens =
        models.length > 0
          ? models.map(([, usage]) => modelTokens(fieldsOf(usage))).reduce(addTokens, NO_TOKENS)
          : addTokens(told.tokens, usageTokens(fieldsOf(line["usage"])));
      if (sizeOf(tokens) < sizeOf(told.tokens)) {
        cleared = { tokens: addTokens(cleared.tokens, told.tokens), cost: sum(cleared.cost, told.cost) };
        told = { tokens: NO_TOKENS, cost: null };
      }
      told = { tokens, cost: cost ?? told.cost };
      model = models.length === 1 ? (models[0]?.[0] ?? null) : null;
      open.clear();
      estimate = NO_TOKENS;
      return total();
    },
    costUsd: () => sum(cleared.cost, told.cost),
    model: () => model,
  };
}

function sum(a: number | null, b: number | null): number | null {
  return a === null ? b : a + (b ?? 0);
}

function usageTokens(usage: Fields): Tokens {
  return {
    input: countOf(usage["input_tokens"]),
    output: countOf(usage["output_tokens"]),
    cache_read: countOf(usage["cache_read_input_tokens"]),
    cache_write: countOf(usage["cache_creation_input_tokens"]),
  };
}

function modelTokens(usage: Fields): Tokens {
  return {
    input: countOf(usage["inputTokens"]),
    output: countOf(usage["outputTokens"]),
    cache_read: countOf(usage["cacheReadInputTokens"]),
    cache_write: countOf(usage["cacheCreationInputTokens"]),
  };
}
