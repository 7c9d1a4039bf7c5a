/** Whether runs that have been silent for a while do anything: two looks at their processes, some time apart. */

import { setTimeout as sleep } from "node:timers/promises";
import { monoMs } from "../core/time.ts";
import { isHere } from "../facts/facts.ts";
import type { Observed } from "../facts/observe.ts";
import type { Facts as JudgedFacts } from "../judge/judge.ts";
import type { Thresholds } from "../judge/rules.ts";
import { type TreeUse, treeUse } from "../process/tree-use.ts";
import { keyOf } from "../stream/streams.ts";

/** Below this a look is not worth its price, unless somebody set a rule that needs it. */
const SILENT_MS = 20_000;
const RULES = ["no_first_output", "model_silent", "tool_silent"] as const;
/** CPU time is counted in steps of 10 ms: a shorter distance tells nothing. */
const APART_MS = 250;
const TICK_MS = 10;

interface UseLook {
  use: TreeUse;
  atMs: number;
  /** What the two looks up to this one told. */
  told: JudgedFacts["process"];
}

export class Silence {
  readonly #last = new Map<string, UseLook>();
  readonly #silentMs: number;

  constructor(thresholds: Thresholds) {
    this.#silentMs = Math.min(SILENT_MS, ...RULES.map((rule) => (thresholds[rule]?.watch ?? SILENT_MS) * 1000));
  }

  /** By `agent.run`; runs that print, or of another machine, have no entry. `wait`: take the second look at once. */
  async look(
    observed: readonly Observed[],
    nowMs: number,
    wait: boolean,
  ): Promise<Map<string, JudgedFacts["process"]>> {
    const silent = observed.filter(({ row, facts }) => {
      const since = Date.parse(row.last_output_at ?? row.started_at ?? "");
      return row.phase === "running" && isHere(facts) && nowMs - since >= this.#silentMs;
    });
    // Runs that nobody asked about this time keep their look: else a hang beside an agent that prints would never be told.
    const keys = new Set(silent.map(keyOf));
    for (const one of observed) if (!keys.has(keyOf(one))) this.#last.delete(keyOf(one));
    const found = new Map<string, JudgedFacts["process"]>();
    if (silent.length === 0) return found;
    if (wait && silent.some((one) => !this.#last.has(keyOf(one)))) {
      this.#lookAt(silent, found);
      await sleep(APART_MS);
    }
    this.#lookAt(silent, found);
    return found;
  }

  /** Forgets all runs but these. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#last.keys()) if (!keys.has(key)) this.#last.delete(key);
  }

  #lookAt(silent: readonly Observed[], found: Map<string, JudgedFacts["process"]>): void {
    const pids = silent.flatMap((one) => {
      const { keeper, main } = one.facts.start ?? {};
      return keeper && main ? [{ key: keyOf(one), keeper: keeper.pid, main: main.pid }] : [];
    });
    const uses = treeUse(pids);
    const atMs = monoMs();
    for (const { key, keeper } of pids) {
      const use = uses.get(keeper);
      const before = this.#last.get(key);
      if (use === undefined) continue;
      const near = before !== undefined && atMs - before.atMs < APART_MS / 2;
      const told = near ? before.told : between(before, { use, atMs });
      found.set(key, told);
      if (!near) this.#last.set(key, { use, atMs, told });
    }
  }
}

function between(before: UseLook | undefined, { use, atMs }: Omit<UseLook, "told">): JudgedFacts["process"] {
  const { children, stopped } = use;
  if (before === undefined) return stopped ? { cpu: 0, children, stopped } : null;
  // A child that ended took its time with it.
  const cpu = Math.max(0, ((use.ticks - before.use.ticks) * TICK_MS) / (atMs - before.atMs));
  return { cpu, children, stopped };
}
