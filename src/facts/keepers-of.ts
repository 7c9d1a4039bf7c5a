/** The living keepers of a workspace, found by its marks. No file can make one up: it is a process with that pid, start time and nonce. */
import { isTaskId } from "../core/ids.ts";
import type { ClaimFact } from "../core/types.ts";
import { namesIn } from "../disk/inside.ts";
import { type Layout, parseActiveMark } from "../disk/layout.ts";
import { readText } from "../disk/replace.ts";
import { keepersAbove } from "../process/identity.ts";
import { livingAdopter, livingKeeper, readFacts } from "./facts.ts";

export function keepersOf(layout: Layout): { any(): boolean; above(): boolean } {
  return {
    any: () => living(layout).next().value !== undefined,
    above() {
      const ours = new Set(keepersAbove().map(({ pid }) => pid));
      if (ours.size === 0) return false;
      for (const { pid } of living(layout)) if (ours.has(pid)) return true;
      return false;
    },
  };
}

function* living(layout: Layout): Generator<ClaimFact, undefined> {
  for (const name of namesIn(layout.root, layout.active)) {
    const mark = parseActiveMark(name);
    const task = mark && readText(layout.activeMark(mark.agent, mark.run))?.split("/")[0];
    if (!mark || !isTaskId(task)) continue;
    const facts = readFacts(layout.run(task, mark.agent, mark.run));
    const keeper = livingKeeper(facts) ?? livingAdopter(facts);
    if (keeper) yield keeper;
  }
  return undefined;
}
