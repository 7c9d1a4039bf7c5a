/**
 * Which budgets there are. Pure. Limits come from the person: what was said last counts, by a command or by trusting a file. A file that nobody
 * trusted as it is now only makes it stricter, and nothing where a person has said so by a command: so an agent that edits it gains nothing, and a
 * stranger's repository can be answered.
 */
import { type Amount, type Asked, type Budget, type Period, type Reach, usualOn } from "../core/config/budget.ts";

/** A person's word about one period, for one label or for all runs. */
export interface SetEntry {
  label: string | null;
  period: Period;
  /** Neither: there is none, whatever a file says. */
  usd?: number;
  tokens?: number;
  on?: Budget["on"];
  /** Where the person was. */
  zone: string;
  at: string;
}

export interface FileWords {
  /** The file as a person trusted it, and when; missing when nobody did. */
  trusted?: { asked: readonly Asked[]; at: string } | undefined;
  /** As it is now, when that is something else. */
  untrusted: readonly Asked[];
}

export function workspaceBudgets(set: readonly SetEntry[], file: FileWords, zone: string): Budget[] {
  const { asked = [], at = "" } = file.trusted ?? {};
  const isLater = (entry: SetEntry): boolean => !asked.some((one) => isSame(one, entry)) || entry.at >= at;
  const said = set.filter(isLater);
  const rest = asked.filter((one) => !said.some((entry) => isSame(entry, one)));
  const persons = [
    ...said.flatMap((entry) => budgetsOf(entry, "workspace", zone)),
    ...rest.map((one): Budget => ({ ...one, reach: "workspace", zone, from: "file" })),
  ];
  const others = file.untrusted.filter((one) => !said.some((entry) => isSame(entry, one)));
  return others.reduce(
    (all, one) => withStricter(all, { ...one, reach: "workspace", zone, from: "untrusted" }),
    persons,
  );
}

/** Of all workspaces, or of a fleet: no file of a project tells of those. */
export function widerBudgets(set: readonly SetEntry[], reach: Exclude<Reach, "workspace">): Budget[] {
  return set.flatMap((entry) => budgetsOf(entry, reach, entry.zone));
}

function budgetsOf(entry: SetEntry, reach: Reach, zone: string): Budget[] {
  const { label, period, on = usualOn(period) } = entry;
  return amountsOf(entry).map((amount) => ({ label, period, ...amount, on, reach, zone, from: "set" }));
}

function amountsOf({ usd, tokens }: Pick<SetEntry, "usd" | "tokens">): Amount[] {
  return [
    ...(usd === undefined ? [] : [{ unit: "usd" as const, most: usd }]),
    ...(tokens === undefined ? [] : [{ unit: "tokens" as const, most: tokens }]),
  ];
}

/** Where there is none yet, it is one more; else the lower amount and the harder end count. */
function withStricter(all: readonly Budget[], one: Budget): Budget[] {
  const at = all.findIndex((other) => isSame(other, one) && other.unit === one.unit);
  const other = all[at];
  if (other === undefined) return [...all, one];
  const on = HARDEST.find((word) => word === one.on || word === other.on) ?? other.on;
  const isChanged = one.most < other.most || on !== other.on;
  return isChanged ? all.with(at, { ...one, most: Math.min(one.most, other.most), on }) : [...all];
}

const HARDEST = ["stop", "hold", "tell"] as const;

function isSame(one: Pick<SetEntry, "label" | "period">, other: Pick<SetEntry, "label" | "period">): boolean {
  return one.label === other.label && one.period === other.period;
}
