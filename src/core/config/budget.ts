/**
 * Budgets as people write them: how much may be spent by a run, by an agent with all below it, in a day or in a week, and what follows. Pure.
 * What is not understood is refused: a limit that is silently none costs money.
 */
import { MidwatchError } from "../errors.ts";
import { quote } from "../ids.ts";
import { isFields } from "../json.ts";
import { didYouMean } from "../nearest.ts";

/** `tree` is an agent with all that are below it. */
export const PERIODS = ["run", "tree", "day", "week"] as const;
export type Period = (typeof PERIODS)[number];

/** When it is passed: only told, what counts to it is stopped, or nothing new is started until it opens again. */
export const ON_PASSED = ["tell", "stop", "hold"] as const;
export type OnPassed = (typeof ON_PASSED)[number];

export interface Amount {
  unit: "usd" | "tokens";
  most: number;
}

/** Whose spending: this workspace's, that of all workspaces of this user, or that of the hosts of a fleet. */
export type Reach = "workspace" | "user" | "fleet";

/** One amount for one period; of `label` only the runs that have it. */
export interface Budget extends Amount {
  reach: Reach;
  label: string | null;
  period: Period;
  on: OnPassed;
  /** Whose midnight counts. */
  zone: string;
  /** `file`: midwatch.config.json as a person trusted it; `untrusted`: as it is now, where that is stricter. */
  from: "set" | "file" | "untrusted";
}

/** As a file or a command has it, before it is known whose it is. */
export type Asked = Pick<Budget, "label" | "period" | "unit" | "most" | "on">;

/** A run that is stopped in the middle of a day is no use to anybody: who wants that says so. */
export function usualOn(period: Period): OnPassed {
  return period === "day" || period === "week" ? "hold" : "stop";
}

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9 };
const AMOUNT = /^(\$?)\s*(\d+(?:\.\d+)?)\s*([kmbg]?)(?:\s+|(?<=[\dkmbg])(?=[a-z$]))?([a-z$]*)$/;
const AMOUNT_HINT = 'Write dollars as 5, "5 USD" or "$0.50", and tokens as "2M tokens".';

/** `5`, `"5 USD"`, `"$0.50"`, `"2M tokens"`. */
export function parseAmount(given: unknown): Amount {
  const text = typeof given === "number" ? plainNumber(given) : given;
  if (typeof text !== "string") throw badAmount(given, "is not an amount");
  const match = AMOUNT.exec(text.trim().toLowerCase().replaceAll("_", ""));
  if (match === null) throw badAmount(given, /^\s*\$?\s*-/.test(text) ? "is below zero" : "is not an amount");
  const [, sign = "", digits = "", scale = "", word = ""] = match;
  const unit = unitOf(sign, word);
  if (unit === undefined) throw badAmount(given, `is not in dollars or tokens (${quote(word)})`);
  // A slip of five million dollars would be no limit at all.
  if (word === "" && sign === "" && scale !== "") throw badAmount(given, "does not say of what");
  const most = Number(digits) * (UNITS[scale] ?? 1);
  if (!(most > 0)) throw badAmount(given, "is nothing", "A budget is more than 0; the word `off` takes one away.");
  if (unit === "tokens" && !Number.isSafeInteger(most)) throw badAmount(given, "is no whole number of tokens");
  if (most > 1e12 && unit === "usd") throw badAmount(given, "is more than there is");
  return { unit, most };
}

function unitOf(sign: string, word: string): Amount["unit"] | undefined {
  if (/^(usd|dollars?|\$)$/.test(word) || (word === "" && sign === "$")) return "usd";
  if (sign === "$") return undefined;
  return word === "" ? "usd" : /^tok(en)?s?$/.test(word) ? "tokens" : undefined;
}

/** 1e-7 is how JavaScript writes it, and nobody else. */
function plainNumber(value: number): string {
  return Number.isFinite(value) ? value.toFixed(6).replace(/\.?0+$/, "") : String(value);
}

function badAmount(given: unknown, why: string, hint = AMOUNT_HINT): MidwatchError {
  const what = typeof given === "number" ? String(given) : quote(typeof given === "string" ? given : typeof given);
  return new MidwatchError("BAD_NUMBER", `${what} ${why}.`, { hint });
}

/** 5 USD, 0.05 USD, 2M tokens. */
export function amountText({ unit, most }: Amount): string {
  if (unit === "tokens") return `${tokensText(most)} tokens`;
  return `${Number(most.toFixed(most < 0.1 ? 4 : 2))} USD`;
}

function tokensText(n: number): string {
  const [scale, letter] = n >= 1e9 ? [1e9, "G"] : n >= 1e6 ? [1e6, "M"] : n >= 1e4 ? [1e3, "k"] : [1, ""];
  return `${Number((n / scale).toFixed(2))}${letter}`;
}

export function parsePeriod(word: string): Period {
  return wordOf("period", word, PERIODS);
}

export function parseOn(period: Period, word: string): OnPassed {
  const on = wordOf("way to act", word, ON_PASSED);
  if (period !== "run" || on !== "hold") return on;
  throw new MidwatchError("USAGE", "A run that has begun cannot be held back.", {
    hint: "The budget of a run takes tell or stop.",
  });
}

function wordOf<T extends string>(what: string, word: unknown, known: readonly T[]): T {
  const found = known.find((one) => one === word);
  if (found !== undefined) return found;
  throw new MidwatchError("USAGE", `${quote(String(word))} is not a ${what} of a budget.`, {
    hint: didYouMean(String(word), known, `There are: ${known.join(", ")}.`),
  });
}

/** `budget` of midwatch.config.json: `{"day": "5 USD", "tree": {"of": 2, "on": "tell"}, "labels": {"night": {"week": "2M tokens"}}}`. */
export function budgetsFrom(given: unknown): Asked[] {
  if (given === undefined) return [];
  try {
    const { labels = {}, ...own } = fields("budget", given);
    const named = Object.entries(fields("labels of budget", labels));
    return [...periods(own, null), ...named.flatMap(([label, one]) => periods(fields(`label ${label}`, one), label))];
  } catch (error) {
    if (!(error instanceof MidwatchError)) throw error;
    throw new MidwatchError("BAD_CONFIG", `budget in midwatch.config.json: ${error.message}`, { hint: error.hint });
  }
}

function periods({ on: usual, ...given }: Readonly<Record<string, unknown>>, label: string | null): Asked[] {
  if (usual !== undefined) wordOf("way to act", usual, ON_PASSED);
  return Object.entries(given).map(([name, value]) => {
    const period = parsePeriod(name);
    const { of, on, ...more } = isFields(value) ? value : { of: value, on: undefined };
    const [unknown] = Object.keys(more);
    if (unknown !== undefined) wordOf("part", unknown, ["of", "on"]);
    // For all of them at once `hold` means those that can be held back.
    const otherwise = usual === undefined || (usual === "hold" && period === "run") ? usualOn(period) : usual;
    return { label, period, ...parseAmount(of), on: parseOn(period, String(on ?? otherwise)) };
  });
}

function fields(what: string, value: unknown): Readonly<Record<string, unknown>> {
  if (isFields(value)) return value;
  throw new MidwatchError("USAGE", `${what} is not an object.`, { hint: 'Write it as {"day": "5 USD"}.' });
}
