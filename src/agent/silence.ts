/** Whether runs that have been silent for a while do anything: two looks at their processes, some time apart. */
import { setTimeout as sleep } from "node:timers/promises";
import { monoMs } from "../core/time.ts";
import type { Facts as JudgedFacts } from "../monitor/judge.ts";
import type { Thresholds } from "../monitor/rules.ts";
import { type TreeUse, treeUse } from "../process/tree-use.ts";
import { isHere } from "./facts.ts";
import type { Observed } from "./reconcile.ts";

/** Below this a look is not worth its price, unless somebody set a rule that needs it. */
const SILENT_MS = 20_000;
const RULES = ["no_first_output", "model_silent", "tool_silent"] as const;
/** CPU time is counted in steps of 10 ms: a shorter distance tells nothing. */
const APART_MS = 250;
const TICK_MS = 10;

interface Look {
  use: TreeUse;
  atMs: number;
}

export class Silence {
  readonly #last = new Map<string, Look>();
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
    for (const key of this.#last.keys()) if (!silent.some((one) => keyOf(one) === key)) this.#last.delete(key);
    const found = new Map<string, JudgedFacts["process"]>();
    if (silent.length === 0) return found;
    if (wait && silent.some((one) => !this.#last.has(keyOf(one)))) {
      this.#lookAt(silent, found);
      await sleep(APART_MS);
    }
    this.#lookAt(silent, found);
    return found;
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
      if (use === undefined || (before !== undefined && atMs - before.atMs < APART_MS / 2)) continue;
      this.#last.set(key, { use, atMs });
      // A child that ended took its time with it.
      if (before === undefined) found.set(key, use.stopped ? { cpu: 0, children: use.children, stopped: true } : null);
      else {
        const cpu = Math.max(0, ((use.ticks - before.use.ticks) * TICK_MS) / (atMs - before.atMs));
        found.set(key, { cpu, children: use.children, stopped: use.stopped });
      }
    }
  }
}

function keyOf({ agent, run }: Pick<Observed, "agent" | "run">): string {
  return `${agent}.${run}`;
}
