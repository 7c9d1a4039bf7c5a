import { localTime } from "../../budget/window.ts";
import {
  type Amount,
  amountText,
  ON_PASSED,
  PERIODS,
  parseAmount,
  parseOn,
  parsePeriod,
  type Reach,
} from "../../core/config/budget.ts";
import { didYouMean } from "../../core/nearest.ts";
import type { BudgetName, BudgetRecord } from "../../fleet/workspace.ts";
import { type Operation, operation, type RenderOptions, usage, workspaceOf, z } from "../operation.ts";
import { paint, table } from "../render.ts";

const show = operation({
  name: "budget",
  summary: "Show budgets: how much of each is spent, what follows, and who waits for it",
  details:
    "A budget is the most that a run, an agent with all below it (tree), a day or a week may spend, in dollars or tokens, over all runs together (docs/budget.md). `midwatch budget set` sets one, `raise` lets what waits go on; `budget` in midwatch.config.json is another way to say it.",
  positionals: ["what"],
  input: z.strictObject({
    what: z
      .string()
      .describe("`show`, which it does anyway")
      .meta({ value: "show", suggest: ["show"] })
      .optional(),
  }),
  changes: false,
  examples: ["midwatch budget", "midwatch budget --json"],
  async run(context, { what }) {
    if (what !== undefined && what !== "show")
      throw usage(
        `There is no \`midwatch budget ${what}\`.`,
        didYouMean(what, ["show", "set", "raise"], "There are show, set and raise."),
      );
    using workspace = workspaceOf(context);
    return await workspace.budgets.show();
  },
  render,
  next: (records) => nextOf(records),
});

const named = {
  period: z
    .string()
    .describe(`What it is for: ${PERIODS.join(", ")}`)
    .meta({ value: "PERIOD", suggest: [...PERIODS] }),
  amount: z
    .array(z.string())
    .min(1, 'say how much: 5, "5 USD" or "2M tokens"')
    .describe("How much: 5, 0.50 USD, 2M tokens"),
  label: z.string().min(1).describe("Only for runs with this label").meta({ value: "WORD" }).optional(),
  everywhere: z.boolean().describe("For all workspaces of yours together").default(false),
  fleet: z.boolean().describe("For all hosts of the fleet together").default(false),
};

const set = operation({
  name: "budget set",
  summary: "Set a budget for a run, a tree, a day or a week; `off` for none",
  details:
    "It is kept outside of the project, where neither an agent nor a repository changes it, and counts from now on. A day begins at midnight and a week on Monday, in the zone of the configuration (time_zone). Without --on the budget of a day or week holds new starts back until it opens again, and that of a run or a tree stops what counts to it.",
  positionals: ["period", "amount"],
  input: z.strictObject({
    ...named,
    on: z
      .string()
      .describe("When it is passed: hold back new starts, stop what counts to it, or only tell")
      .meta({ value: "tell|stop|hold", suggest: [...ON_PASSED] })
      .optional(),
  }),
  changes: true,
  examples: [
    "midwatch budget set day 5",
    "midwatch budget set week 20 --label night --everywhere",
    "midwatch budget set run 2M tokens",
    "midwatch budget set day 10 --on stop",
    "midwatch budget set day off",
  ],
  async run(context, { amount, on, ...given }) {
    const name = nameOf(given);
    const most = wordsOf(amount) === "off" ? "off" : parseAmount(wordsOf(amount));
    const then = on === undefined ? undefined : parseOn(name.period, on);
    using workspace = workspaceOf(context, { make: true });
    return await workspace.budgets.set(name, most, then);
  },
  render,
  next: () => "midwatch budget",
});

const raise = operation({
  name: "budget raise",
  summary: "Raise a budget; what waits for it starts within seconds",
  details:
    "Where several are in force for the period, say which by --label, --everywhere or --fleet; if only one of them is spent, it is that one.",
  positionals: ["period", "amount"],
  input: z.strictObject(named),
  changes: true,
  examples: ["midwatch budget raise day 5", "midwatch budget raise week 50 --everywhere"],
  async run(context, { amount, ...given }) {
    const name = nameOf(given);
    const most: Amount = parseAmount(wordsOf(amount));
    using workspace = workspaceOf(context);
    return await workspace.budgets.raise(name, most);
  },
  render,
  next: () => "midwatch ls",
});

interface Named {
  period: string;
  label?: string | undefined;
  everywhere: boolean;
  fleet: boolean;
}

function nameOf({ period, label, everywhere, fleet }: Named): BudgetName {
  if (everywhere && fleet)
    throw usage(
      "--everywhere and --fleet exclude each other.",
      "One budget is of one machine, the other of all hosts.",
    );
  if (fleet && (label !== undefined || !["day", "week"].includes(period)))
    throw usage("A fleet has budgets of a day and a week, for all that its hosts spend.", "Leave --label out.");
  const reach: Reach | undefined = everywhere ? "user" : fleet ? "fleet" : undefined;
  return { period: parsePeriod(period), label, reach };
}

function wordsOf(amount: readonly string[]): string {
  return amount.join(" ").trim();
}

function nextOf(records: readonly BudgetRecord[]): string {
  const [held] = records.filter((one) => one.held.length > 0);
  return held?.raise ?? "midwatch budget set day 5";
}

const FOLLOWS = { tell: "told", stop: "runs stop", hold: "new starts wait" } as const;
const NAMES = 3;

function render(records: readonly BudgetRecord[], options: RenderOptions): string {
  if (records.length === 0) return "No budgets.";
  const rows = records.map((one) => [
    nameText(one),
    one.since === null ? "-" : localTime(Date.parse(one.since), one.zone),
    one.until === null ? "-" : localTime(Date.parse(one.until), one.zone),
    spentText(one),
    amountText({ unit: one.unit, most: one.of }),
    paintPercent(one.percent, options),
    FOLLOWS[one.on],
    heldText(one.held),
  ]);
  const zones = [...new Set(records.filter(({ since }) => since !== null).map(({ zone }) => zone))];
  return [
    table([["BUDGET", "FROM", "TO", "SPENT", "OF", "%", "WHEN PASSED", "WAITING"], ...rows], options),
    ...(zones.length > 0 ? [`Times are of ${zones.join(", ")}.`] : []),
    ...unpricedLines(records),
    ...(records.some(({ from }) => from === "untrusted")
      ? [
          "One of them is in a midwatch.config.json that nobody trusted as it is: who edits it changes it. Next: midwatch trust",
        ]
      : []),
  ].join("\n");
}

/** `day`, `week night, all workspaces` */
function nameText({ period, label, reach, whose }: BudgetRecord): string {
  const scope = { workspace: "", user: "all workspaces", fleet: "the fleet" }[reach];
  const words = [label ?? "", scope, whose ?? ""].filter(Boolean).join(", ");
  return words === "" ? period : `${period} (${words})`;
}

function spentText({ unit, spent, estimated }: BudgetRecord): string {
  return `${estimated ? "~" : ""}${spent === 0 ? `0 ${unit === "usd" ? "USD" : "tokens"}` : amountText({ unit, most: spent })}`;
}

function paintPercent(percent: number, options: RenderOptions): string {
  const text = String(percent);
  return percent >= 100 ? paint(text, "red", options) : percent >= 80 ? paint(text, "yellow", options) : text;
}

function heldText(held: readonly string[]): string {
  if (held.length === 0) return "-";
  const shown = held.slice(0, NAMES).join(", ");
  return held.length > NAMES ? `${held.length}: ${shown}, ...` : shown;
}

function unpricedLines(records: readonly BudgetRecord[]): string[] {
  const most = Math.max(...records.map(({ unpriced }) => unpriced));
  if (most === 0) return [];
  const runs = most === 1 ? "1 run used a model" : `${most} runs used models`;
  return [`${runs} without a known price: no budget in dollars counts them, one in tokens does.`];
}

export const budget: readonly Operation[] = [show, set, raise];
