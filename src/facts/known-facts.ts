/**
 * Facts of living runs as they were read last, for a loop that looks each second at a hundred agents of which none does anything.
 * They hold while the run's folder has not changed (every fact comes by a rename or a link) and its keeper's pid is in use.
 */
import { statSync } from "node:fs";
import type { RunPaths } from "../disk/layout.ts";
import { isInUse } from "../process/identity.ts";
import { type Facts, livingKeeper, readFacts } from "./facts.ts";

/** Read again after this time in any case: a pid may be a zombie's, or another process by now. */
const TRUST_MS = 30_000;
/** A folder that changed later may change again without its time telling. */
const SETTLED_MS = 1000;

interface Known {
  facts: Facts;
  keeper: number;
  changedMs: number;
  until: number;
}

export class KnownFacts {
  readonly #known = new Map<string, Known>();

  read(paths: RunPaths): Facts {
    const changedMs = statSync(paths.dir, { throwIfNoEntry: false })?.mtimeMs;
    const known = this.#known.get(paths.dir);
    const holds = known?.changedMs === changedMs && performance.now() < (known?.until ?? 0);
    if (known !== undefined && holds && isInUse(known.keeper)) return known.facts;
    const facts = readFacts(paths);
    const keeper = livingKeeper(facts)?.pid;
    if (keeper !== undefined && changedMs !== undefined && Date.now() - changedMs > SETTLED_MS) {
      // Not all at once the next time.
      const until = performance.now() + TRUST_MS * (0.5 + Math.random());
      this.#known.set(paths.dir, { facts, keeper, changedMs, until });
    } else this.#known.delete(paths.dir);
    return facts;
  }

  /** Forgets all but the runs in these folders. */
  keep(folders: ReadonlySet<string>): void {
    for (const folder of this.#known.keys()) if (!folders.has(folder)) this.#known.delete(folder);
  }
}
