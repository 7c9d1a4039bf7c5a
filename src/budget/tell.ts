/**
 * That a part of a budget is spent, told once a window: by an event, which the alert routes take up. Several workspaces may share a budget, and
 * several processes look at it: who tells it says so first in the state folder, under a name that they all find.
 */
import { iso } from "../core/time.ts";
import { placeId } from "../journal/event.ts";
import { sha256Of } from "../trust/config-trust.ts";
import { audit } from "../workspace/audit.ts";
import type { Context } from "../workspace/context.ts";
import { type BudgetState, budgetName, figure, reached } from "./budget-plan.ts";
import { opensAt } from "./window.ts";

/** told/<SHA-256 of what>.json */
interface ToldRecord {
  v: 1;
  what: string;
  /** The workspace that tells it. */
  by: string;
  at: string;
  /** Its event is written. */
  done: boolean;
}

/** After that one who said that it would tell is taken for dead. */
const LATE_MS = 10_000;

const SEVERITIES: Readonly<Record<number, string>> = { 50: "info", 80: "warning", 100: "error" };

export class Teller {
  readonly #context: Context;
  /** What need not be looked up again. */
  readonly #known = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  tell(states: readonly BudgetState[], nowMs: number): void {
    for (const state of states)
      for (const { percent, key } of reached(state)) {
        // Others of the same user may spend the same; of a workspace's own it is this one that tells.
        const name = state.budget.reach === "workspace" ? `${this.#context.layout.root} ${key}` : key;
        if (this.#known.has(name)) continue;
        if (this.#takes(name, nowMs)) this.#write(state, percent, name);
      }
  }

  #takes(name: string, nowMs: number): boolean {
    const { layout, trust } = this.#context;
    const file = sha256Of(name);
    const record: ToldRecord = { v: 1, what: name, by: layout.root, at: iso(nowMs), done: false };
    if (trust.state.create("told", file, record)) return true;
    const known = trust.state.read<ToldRecord>("told", file);
    if (known?.done) this.#known.add(name);
    if (known === undefined || known.done) return false;
    return known.by === layout.root || nowMs - Date.parse(known.at) > LATE_MS;
  }

  /** The event first: who is killed in between is followed by one who writes it again, under the same id. */
  #write(state: BudgetState, percent: number, name: string): void {
    const { budget, window, of, spent, estimated } = state;
    const { period, label, reach, unit, most, on } = budget;
    const said = { from: window && iso(window.fromMs), until: window && iso(window.toMs) };
    const data = { period, label, reach, unit, of: most, spent, estimated, percent, on, ...said };
    const content = contentOf(state, percent);
    const severity = SEVERITIES[percent];
    const id = placeId("budget", name);
    audit(this.#context, [{ type: "budget.reached", id, content, data: { ...data, whose: of, severity } }]);
    const record: ToldRecord = { v: 1, what: name, by: this.#context.layout.root, at: iso(), done: true };
    this.#context.trust.state.write("told", sha256Of(name), record);
    this.#known.add(name);
  }
}

/** In words that differ, not only in figures: alert routes take those for the same news. */
function contentOf(state: BudgetState, percent: number): string {
  const part = { 50: "half of ", 80: "four fifths of " }[percent];
  if (part !== undefined) return `${part}${budgetName(state)} is spent (${figure(state)})`;
  return `${budgetName(state)} is spent (${figure(state)})${following(state)}`;
}

function following({ budget, window }: BudgetState): string {
  if (budget.on === "tell") return "";
  if (budget.on === "stop") return "; what counts to it is stopped";
  return `; new starts wait${window === null ? "" : ` until ${opensAt(window.toMs, Date.now(), budget.zone)}`}`;
}
