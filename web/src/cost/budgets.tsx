/** How far each budget is spent: a bar with the figure, when it opens again, and who waits. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { amountText } from "../../../src/core/config/budget.ts";
import type { BudgetRecord } from "../../../src/fleet/budgets.ts";
import { get, type Items } from "../api.ts";
import { clock, plural, span } from "../format.ts";

const AGAIN_MS = 10_000;

/** Nothing at all where there is no budget. What cannot be read is told by the figures beside it. */
export function Budgets(): JSX.Element | null {
  const records = useSignal<readonly BudgetRecord[]>([]);
  useEffect(() => {
    const once = (): void => {
      get<Items<BudgetRecord>>("budget").then(
        ({ items }) => {
          records.value = items;
        },
        () => undefined,
      );
    };
    once();
    const timer = setInterval(() => document.hidden || once(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  if (records.value.length === 0) return null;
  return (
    <section class="card budgets" aria-label="Budgets">
      {records.value.map((one) => (
        <Bar key={`${one.reach} ${one.label} ${one.period} ${one.unit}`} record={one} />
      ))}
    </section>
  );
}

function Bar({ record }: { record: BudgetRecord }): JSX.Element {
  const { of, spent, percent, estimated, unit, until, held } = record;
  const name = nameOf(record);
  const figure = `${estimated ? "~" : ""}${amountText({ unit, most: spent })} of ${amountText({ unit, most: of })}`;
  const next = until === null ? "" : `starts over in ${span(Date.parse(until) - clock.value)}`;
  const waits = held.length === 0 ? "" : `${plural(held.length, "agent")} ${held.length === 1 ? "waits" : "wait"}`;
  return (
    <div class="budget">
      <p>
        <strong>{name}</strong> {figure}, {percent} %
      </p>
      <meter min={0} max={of} low={of * 0.8} high={of * 0.999_999} optimum={0} value={spent} aria-label={name} />
      <p class="meta">{[next, waits, percent >= 100 ? record.raise : ""].filter(Boolean).join(" · ")}</p>
    </div>
  );
}

const PERIODS = { run: "Run", tree: "Tree", day: "Today", week: "This week" } as const;

function nameOf({ period, label, reach, whose }: BudgetRecord): string {
  const scope = { workspace: "", user: "all projects", fleet: "the fleet" }[reach];
  return [PERIODS[period], label ?? "", scope, whose ?? ""].filter(Boolean).join(", ");
}
