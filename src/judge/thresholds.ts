/**
 * Other thresholds than the table's, from `rules` of midwatch.config.json: `{"no_news": {"watch": 8, "alert": "never"}}`. What could
 * never work is refused here, where a person reads it, and not found out by an alarm that does not come.
 */
import { MidwatchError } from "../core/errors.ts";
import { type Fields, isFields } from "../core/json.ts";
import { didYouMean } from "../core/nearest.ts";
import { RULE_NAMES, RULES, type RuleName, type Thresholds } from "./rules.ts";

/** Rules of older releases, which were wrong too often: a configuration that names one still loads, and it means nothing. */
const RETIRED: readonly string[] = ["error_streak", "mistakes"];
const LEVELS = ["watch", "alert"] as const;

export function thresholdsFrom(given: unknown): Thresholds {
  if (given === undefined) return {};
  if (!isFields(given)) refuse("rules is not an object.", 'Write it as {"rules": {"no_news": {"alert": 9}}}.');
  return Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => !RETIRED.includes(name))
      .map(([name, levels]) => {
        const rule = known(name, RULE_NAMES, "rules", "docs/watch.md lists the rules.");
        if (!isFields(levels)) refuse(`rules.${rule} is not an object.`, `Write it as {"watch": 3, "alert": 5}.`);
        return [rule, levelsOf(rule, levels)];
      }),
  );
}

function levelsOf(rule: RuleName, given: Fields): { watch: number; alert: number } {
  const levels = { watch: RULES[rule].watch, alert: RULES[rule].alert };
  for (const [name, value] of Object.entries(given)) {
    const level = known(name, LEVELS, `rules.${rule}`, "A rule has watch and alert.");
    levels[level] = thresholdOf(rule, level, value);
  }
  if (levels.watch <= levels.alert) return levels;
  return refuse(
    `rules.${rule}: watch (${shown(levels.watch)}) is above alert (${shown(levels.alert)}).`,
    "What is told is worth a look before: give both.",
  );
}

function thresholdOf(rule: RuleName, level: string, value: unknown): number {
  if (value === "never") return Number.POSITIVE_INFINITY;
  const { most = Number.POSITIVE_INFINITY, about } = RULES[rule];
  if (typeof value !== "number" || !(value > 0) || !Number.isFinite(value))
    return refuse(`rules.${rule}.${level} is ${JSON.stringify(value)}.`, 'It takes a number above 0, or "never".');
  if (value <= most) return value;
  return refuse(
    `rules.${rule}.${level} is ${value}, and the rule counts to ${most} at most (${about}).`,
    `Give ${most} or less, or "never".`,
  );
}

function known<T extends string>(name: string, names: readonly T[], where: string, otherwise: string): T {
  const found = names.find((one) => one === name);
  if (found !== undefined) return found;
  return refuse(`${JSON.stringify(name)} in ${where} is not known.`, didYouMean(name, names, otherwise));
}

function refuse(what: string, hint: string): never {
  throw new MidwatchError("BAD_CONFIG", `midwatch.config.json: ${what}`, { hint });
}

function shown(value: number): string {
  return Number.isFinite(value) ? String(value) : "never";
}
