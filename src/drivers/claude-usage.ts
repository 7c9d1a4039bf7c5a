/**
 * Claude Code's tokens. A message is printed once for each content block with the same usage, so usage counts once for a message
 * id and request id, the larger figure winning. A `result` replaces that estimate: its `modelUsage` is cumulative and includes
 * sub-agents, its `usage` is the last turn's main conversation only. Since some 2.1 version the totals of a resumed session go on
 * from where it left off; which way this one counts is told by comparing with the messages that were seen.
 */
import type { Tokens } from "../core/types.ts";
import type { ModelCost, SessionUse } from "./driver.ts";
import { countOf, type Fields, fieldsOf, isFields, numberOf, textOf } from "./fields.ts";
import { addTokens, NO_TOKENS, sizeOf, subtractTokens } from "./stream.ts";

export interface UsageMeter {
  /** `tokens`: the run's new total, or null when this message changed nothing. `fresh`: the message was not seen before. `prompt`: what it sent. */
  message(body: Fields, requestId: string | null): { fresh: boolean; tokens: Tokens | null; prompt: number };
  result(line: Fields): Tokens;
  costUsd(): number | null;
  /** The model that did all of the work, when it was one. */
  model(): string | null;
  /** What the cost of this run was made up of, when it was of several models and of this run alone. */
  models(): readonly ModelCost[];
  /** The totals as the CLI last told them. */
  session(): SessionUse | null;
}

/** The lines of one message come close together, those of sub-agents between them: older ones are not met again, and a run may last days. */
const OPEN_MOST = 256;

const NOTHING: SessionUse = { tokens: NO_TOKENS, cost_usd: null };

export function claudeUsage(before: SessionUse | null): UsageMeter {
  const open = new Map<string, Tokens>();
  /** Of messages since the last result, and of all before it. */
  let estimate = NO_TOKENS;
  let seen = NO_TOKENS;
  let told = NOTHING;
  // `/clear` sets the CLI's own totals back to zero: what they were before is kept here.
  let cleared = NOTHING;
  let session: SessionUse | null = null;
  let inherited: boolean | null = null;
  let model: string | null = null;
  let costed: readonly ModelCost[] = [];

  const total = (): Tokens => addTokens(addTokens(cleared.tokens, told.tokens), estimate);

  /** What the CLI's totals say of this run alone. */
  const own = (all: SessionUse): SessionUse => {
    if (before === null) return all;
    inherited ??= includes(all.tokens, before.tokens, addTokens(seen, estimate));
    if (!inherited || sizeOf(all.tokens) < sizeOf(before.tokens)) return all;
    const cost = all.cost_usd === null ? null : Math.max(0, all.cost_usd - (before.cost_usd ?? 0));
    return { tokens: subtractTokens(all.tokens, before.tokens), cost_usd: cost };
  };

  return {
    message(body, requestId) {
      const id = textOf(body["id"]);
      const key = `${id ?? ""} ${requestId ?? ""}`;
      const earlier = open.get(key);
      const usage = isFields(body["usage"]) ? usageTokens(body["usage"]) : NO_TOKENS;
      const prompt = sizeOf(usage) - usage.output;
      const fresh = id !== null && earlier === undefined;
      if (id === null || (earlier !== undefined && sizeOf(usage) <= sizeOf(earlier)))
        return { fresh, tokens: null, prompt };
      open.set(key, usage);
      const [oldest] = open.size > OPEN_MOST ? open.keys() : [];
      if (oldest !== undefined) open.delete(oldest);
      estimate = addTokens(estimate, subtractTokens(usage, earlier ?? NO_TOKENS));
      return { fresh, tokens: total(), prompt };
    },
    result(line) {
      const models = Object.entries(fieldsOf(line["modelUsage"]));
      const cost_usd = numberOf(line["total_cost_usd"]);
      let now: SessionUse;
      if (models.length > 0) {
        session = {
          tokens: models.map(([, use]) => modelTokens(fieldsOf(use))).reduce(addTokens, NO_TOKENS),
          cost_usd,
        };
        now = own(session);
      } else {
        // Without figures for each model, `usage` is this turn's alone and is added to what earlier turns told.
        now = { tokens: addTokens(told.tokens, usageTokens(fieldsOf(line["usage"]))), cost_usd };
      }
      if (sizeOf(now.tokens) < sizeOf(told.tokens)) {
        cleared = { tokens: addTokens(cleared.tokens, told.tokens), cost_usd: sum(cleared.cost_usd, told.cost_usd) };
        told = NOTHING;
      }
      told = { tokens: now.tokens, cost_usd: now.cost_usd ?? told.cost_usd };
      costed = now === session && cleared === NOTHING ? models.map(modelCost) : [];
      model = models.length === 1 ? (models[0]?.[0] ?? null) : null;
      seen = addTokens(seen, estimate);
      estimate = NO_TOKENS;
      open.clear();
      return total();
    },
    costUsd: () => sum(cleared.cost_usd, told.cost_usd),
    model: () => model,
    models: () => (costed.length > 1 ? costed : []),
    session: () => session,
  };
}

/** Whether the totals hold what was there before the run. Input is compared: the output of a message is not known until the result. */
function includes(all: Tokens, before: Tokens, seen: Tokens): boolean {
  const input = (tokens: Tokens): number => sizeOf(tokens) - tokens.output;
  return Math.abs(input(all) - input(before) - input(seen)) < Math.abs(input(all) - input(seen));
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

function modelCost([model, use]: [string, unknown]): ModelCost {
  const fields = fieldsOf(use);
  return { model, tokens: modelTokens(fields), cost_usd: numberOf(fields["costUSD"]) ?? 0 };
}

function modelTokens(usage: Fields): Tokens {
  return {
    input: countOf(usage["inputTokens"]),
    output: countOf(usage["outputTokens"]),
    cache_read: countOf(usage["cacheReadInputTokens"]),
    cache_write: countOf(usage["cacheCreationInputTokens"]),
  };
}
