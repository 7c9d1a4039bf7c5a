/**
 * Which rule may ring: its thresholds are chosen without one source of sessions, and measured on that one. It rings from the lowest
 * value that at most one of 145 sessions of the others comes to, and may ring when it then catches nine of ten of what it is made for.
 */
import { RULES, type RuleName } from "../../src/judge/rules.ts";
import { injections, type Kind } from "./inject.ts";
import { momentsOf, type Run } from "./runs.ts";
import { sessionsOf, tasksOf } from "./sessions.ts";
import { stuckValues } from "./steps-of.ts";
import { print } from "./table.ts";

/** The trouble that each rule is there for; `row`: only where its steps follow each other, which is what the rule counts. */
const FOR: Readonly<Partial<Record<RuleName, { kind: Kind; row?: true }>>> = {
  repeat: { kind: "literal repeats", row: true },
  again: { kind: "literal repeats" },
  cycle: { kind: "edit and revert", row: true },
  same_edit: { kind: "edit and revert" },
  gone: { kind: "a tool that is gone" },
  same_answer: { kind: "variants, same answer" },
  same_error: { kind: "same error, other commands" },
  retry: { kind: "test fails after each edit" },
  no_news: { kind: "variants, same answer", row: true },
};
const MOST_FALSE = 1 / 145;
const ENOUGH = 0.9;

type Values = Record<string, number>;
interface Case {
  source: string;
  values: Values;
}

/** `called`: sessions of which people say that somebody should have been called; they are in no way healthy. */
export function ringTable(runs: readonly Run[], healthy: readonly Run[], called: ReadonlySet<string>): void {
  const sessions = sessionsOf(runs);
  if (sessions.length === 0) return;
  const quiet: Case[] = [
    ...sessions
      .filter(({ id }) => !called.has(id))
      .map((run) => ({
        source: sourceOf(run),
        values: most(tasksOf(run).map(({ steps }) => valuesOf(steps))),
      })),
    ...healthy.map((run) => ({ source: sourceOf(run), values: valuesOf(run.steps) })),
  ];
  const trouble = sessions
    .flatMap(tasksOf)
    .flatMap((task, seed) => injections(task, seed + 1))
    .map(({ kind, speed, task }) => ({ kind, speed, source: sourceOf(task.run), values: valuesOf(task.steps) }));
  const real = new Set(sessions.map(sourceOf));
  print(
    [
      "rule, its threshold chosen without each source",
      "chosen",
      "table",
      "rings wrongly, real sessions",
      "other healthy runs",
      "at the table's alert, both",
      "catches of what it is for",
      "may ring",
    ],
    Object.entries(FOR).map(([rule, { kind, row }]) => {
      const own = trouble.filter((one) => one.kind === kind && (row === undefined || one.speed === 1));
      const { from, wrong, right } = leaveOut(rule, quiet, own);
      const wrongly = wrong.filter(({ source }) => real.has(source)).length;
      const may = wrongly <= Math.ceil(MOST_FALSE * sessions.length) && right >= ENOUGH * own.length;
      const { watch, alert } = RULES[rule as RuleName];
      return [
        rule,
        from.join(", "),
        `${watch} / ${Number.isFinite(alert) ? alert : "never"}`,
        `${wrongly} of ${quiet.length - healthy.length}`,
        `${wrong.length - wrongly} of ${healthy.length}`,
        String(quiet.filter(({ values }) => (values[rule] ?? 0) >= alert).length),
        `${(right / own.length).toFixed(2)} of ${own.length} (${kind}${row === undefined ? "" : ", in a row"})`,
        may ? "yes" : "no",
      ];
    }),
  );
}

function leaveOut(
  rule: string,
  quiet: readonly Case[],
  trouble: readonly Case[],
): { from: number[]; wrong: Case[]; right: number } {
  const sources = [...new Set(quiet.map(({ source }) => source))].sort();
  const told = { from: [] as number[], wrong: [] as Case[], right: 0 };
  for (const left of sources) {
    const others = quiet.filter(({ source }) => source !== left).map(({ values }) => values[rule] ?? 0);
    const allowed = Math.floor(MOST_FALSE * others.length);
    let from = 2;
    while (others.filter((value) => value >= from).length > allowed) from++;
    const reach = ({ source, values }: Case): boolean => source === left && (values[rule] ?? 0) >= from;
    told.from.push(from);
    told.wrong.push(...quiet.filter(reach));
    told.right += trouble.filter(reach).length;
  }
  return told;
}

function valuesOf(steps: Run["steps"]): Values {
  return stuckValues(momentsOf(steps));
}

function most(all: readonly Values[]): Values {
  const highest: Values = {};
  for (const values of all)
    for (const [rule, value] of Object.entries(values)) highest[rule] = Math.max(highest[rule] ?? 0, value);
  return highest;
}

/** A part of the data that thresholds are chosen without: a model in a set. */
export function sourceOf({ ds, model }: Run): string {
  return model === "" ? ds : `${ds}/${model}`;
}
