/**
 * What tokens cost, as data: prices.json, and over it a file of the user's (`prices_file`). Each price says where it was found and when.
 * A model that is in neither has no price, and nobody guesses one: a guess would be added up as money.
 */
import { MidwatchError } from "../core/errors.ts";
import type { Tokens } from "../core/types.ts";
import { modelName } from "./figures.ts";
import listed from "./prices.json" with { type: "json" };

/** US dollars for a million tokens. */
type Rates = Tokens;

/** The rates of a request whose prompt is longer than so many tokens, for all of its tokens. */
interface Tier extends Rates {
  above: number;
}

export interface Price extends Rates {
  /** The day on which somebody looked. */
  date: string;
  source: string;
  /** The shortest prompt first. */
  tiers?: readonly Tier[];
}

const MILLION = 1_000_000;
const KINDS: readonly (keyof Tokens)[] = ["input", "output", "cache_read", "cache_write"];
const STALE_MS = 120 * 24 * 3_600_000;

export class Prices {
  readonly #models: ReadonlyMap<string, Price>;
  /** The day of the newest of them. */
  readonly asOf: string;

  /** Why a list of the user's does not count. Nothing is started on prices that a person meant to be others; a stop goes on. */
  readonly fault: MidwatchError | undefined;

  constructor(models: ReadonlyMap<string, Price>, fault?: MidwatchError) {
    this.#models = models;
    this.fault = fault;
    this.asOf = [...models.values()].reduce((newest, { date }) => (date > newest ? date : newest), "");
  }

  /**
   * What the tokens cost, in US dollars; null when that is not known. `prompt` is how long the prompt of each of their requests was;
   * without it no request was longer than all of them together.
   */
  of(model: string | null, tokens: Tokens | null, prompt?: number): number | null {
    const price = model === null ? undefined : this.find(model);
    if (price === undefined || tokens === null) return null;
    const { tiers = [] } = price;
    const longest = prompt ?? promptOf(tokens);
    const tier = tiers.findLast(({ above }) => longest > above);
    return tier !== undefined && prompt === undefined ? null : sumOf(tokens, tier ?? price);
  }

  /** What they cost at the least: as if every prompt were short; 0 without a price. */
  least(model: string | null, tokens: Tokens): number {
    const price = model === null ? undefined : this.find(model);
    return price === undefined ? 0 : sumOf(tokens, price);
  }

  /** By its own name or that of its family: another size (`-mini`) is another model. */
  find(model: string): Price | undefined {
    return this.#models.get(model.toLowerCase().replace(/^.*\//, "")) ?? this.#models.get(modelName(model));
  }

  /** Those that nobody has looked at for 120 days, the oldest first. */
  stale(nowMs: number): { model: string; date: string }[] {
    return [...this.#models]
      .filter(([, { date }]) => nowMs - Date.parse(date) > STALE_MS)
      .map(([model, { date }]) => ({ model, date }))
      .sort((a, b) => (a.date < b.date ? -1 : 1));
  }

  /** With those of a file, which count before ours. */
  with(models: ReadonlyMap<string, Price>): Prices {
    return new Prices(new Map([...this.#models, ...models]));
  }

  /** The same, where those of a file cannot be used. */
  despite(fault: MidwatchError): Prices {
    return new Prices(this.#models, fault);
  }
}

function sumOf(tokens: Tokens, rates: Rates): number {
  return KINDS.reduce((sum, kind) => sum + (tokens[kind] * rates[kind]) / MILLION, 0);
}

/** The list that comes with midwatch. */
export const LISTED: Prices = new Prices(new Map(Object.entries(listed.models as Record<string, Price>)));

/** What a request sends, from a cache or not. */
function promptOf({ input, cache_read, cache_write }: Tokens): number {
  return input + cache_read + cache_write;
}

/** The models of a file of prices; `text` is what is in it. Throws BAD_CONFIG with the name of the field. */
export function parsePrices(path: string, text: string): ReadonlyMap<string, Price> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bad(path, "it", `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const file = fields(path, "it", value);
  for (const key of Object.keys(file))
    if (!FILE_KEYS.has(key)) throw bad(path, key, "is not a field of a list of prices");
  const models = fields(path, "models", file["models"]);
  return new Map(
    Object.entries(models).map(([model, price]) => [model.toLowerCase(), priceFrom(path, `models.${model}`, price)]),
  );
}

/** The same as prices.json has, so that a copy of it is a beginning. */
const FILE_KEYS: ReadonlySet<string> = new Set(["$schema", "as_of", "note", "sources", "models"]);
const PRICE_KEYS: ReadonlySet<string> = new Set([...KINDS, "date", "source", "tiers"]);
const TIER_KEYS: ReadonlySet<string> = new Set([...KINDS, "above"]);

function priceFrom(path: string, name: string, value: unknown): Price {
  const given = fields(path, name, value);
  known(path, name, given, PRICE_KEYS);
  const { date, source, tiers } = given;
  if (typeof date !== "string" || !/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(Date.parse(date)))
    throw bad(path, `${name}.date`, "is not a day such as 2026-11-16");
  if (typeof source !== "string" || source.trim() === "")
    throw bad(path, `${name}.source`, "does not say where the price is from");
  const price: Price = { ...ratesFrom(path, name, given), date, source };
  if (tiers === undefined) return price;
  if (!Array.isArray(tiers)) throw bad(path, `${name}.tiers`, "is not a list");
  return { ...price, tiers: tiers.map((tier, n) => tierFrom(path, `${name}.tiers[${n}]`, tier, tiers[n - 1])) };
}

function tierFrom(path: string, name: string, value: unknown, before: unknown): Tier {
  const given = fields(path, name, value);
  known(path, name, given, TIER_KEYS);
  const { above } = given;
  const least = Number((before as Tier | undefined)?.above ?? 0);
  if (!Number.isSafeInteger(above) || (above as number) <= least)
    throw bad(path, `${name}.above`, `is not a number of tokens above ${least}`);
  return { ...ratesFrom(path, name, given), above: above as number };
}

function ratesFrom(path: string, name: string, given: Record<string, unknown>): Rates {
  const rates = KINDS.map((kind) => {
    const rate = given[kind];
    if (typeof rate !== "number" || !Number.isFinite(rate) || rate < 0)
      throw bad(path, `${name}.${kind}`, "is not a number of dollars for a million tokens");
    return [kind, rate] as const;
  });
  return Object.fromEntries(rates) as unknown as Rates;
}

function fields(path: string, name: string, value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw bad(path, name, "is not an object");
}

function known(path: string, name: string, given: object, keys: ReadonlySet<string>): void {
  for (const key of Object.keys(given))
    if (!keys.has(key)) throw bad(path, `${name}.${key}`, "is not a field of a price");
}

function bad(path: string, field: string, problem: string): MidwatchError {
  return new MidwatchError("BAD_CONFIG", `The list of prices ${path}: ${field} ${problem}.`, {
    hint: "docs/cost.md has an example of such a file.",
    data: { path, field },
  });
}
