/** What a CLI's files beside its stream add to what the stream has told. Pure. */
import type { Tokens } from "../core/types.ts";
import type { StreamResult, Uncosted } from "../drivers/driver.ts";
import { addTokens, NO_TOKENS, sizeOf } from "../drivers/stream.ts";

export interface Besides {
  /** The stream counts all of them too. */
  together: boolean;
  /** Of the session's first thread, all its runs together; null when it has no file. */
  total: Tokens | null;
  /** By this run: of the first thread, and of those that it started. */
  main: readonly Uncosted[];
  others: readonly Uncosted[];
}

export function withBesides(told: StreamResult, besides: Besides): StreamResult {
  const { main, others, together } = besides;
  if (main.length + others.length === 0) return told;
  return together ? greater(told, [...main, ...others]) : withOthers(told, besides);
}

/** What the CLI itself has told of its cost stands. */
function greater(told: StreamResult, all: readonly Uncosted[]): StreamResult {
  const tokens = sumOf(all);
  if (told.cost_usd !== null || sizeOf(tokens) <= sizeOf(told.tokens ?? NO_TOKENS)) return told;
  return { ...told, tokens, uncosted: merged(all) };
}

/** Of the first thread the greater count is the newer; the stream knows nothing of the others. */
function withOthers(told: StreamResult, { total, main, others }: Besides): StreamResult {
  const newer = sizeOf(sumOf(main)) > sizeOf(told.tokens ?? NO_TOKENS);
  const tokens = addTokens(newer ? sumOf(main) : (told.tokens ?? NO_TOKENS), sumOf(others));
  const known = main.at(-1)?.model ?? null;
  // Equal counts: the files know the models too.
  const same = sizeOf(sumOf(main)) === sizeOf(told.tokens ?? NO_TOKENS);
  const uncosted = [...(newer || same ? main : told.uncosted), ...others];
  const before = told.session_use?.tokens ?? NO_TOKENS;
  const session_use =
    total !== null && sizeOf(total) > sizeOf(before) ? { tokens: total, cost_usd: null } : told.session_use;
  return { ...told, model: told.model ?? known, tokens, uncosted: merged(uncosted), session_use };
}

function sumOf(used: readonly Uncosted[]): Tokens {
  return used.reduce((sum, { tokens }) => addTokens(sum, tokens), NO_TOKENS);
}

function merged(used: readonly Uncosted[]): Uncosted[] {
  const by = new Map<string, Uncosted>();
  for (const one of used) {
    const key = `${one.prompt} ${one.model}`;
    by.set(key, { ...one, tokens: addTokens(by.get(key)?.tokens ?? NO_TOKENS, one.tokens) });
  }
  return [...by.values()];
}
