/** The one way in which spend of this workspace's runs comes into the user's ledger. Best effort: an agent's life and its clean-up wait for no book. */
import { dirname } from "node:path";
import { toMidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import { placeId } from "../journal/event.ts";
import type { RunTotals } from "../spend/ledger.ts";
import { audit } from "./audit.ts";
import type { Context, RunName } from "./context.ts";

/** What a run has used in all by now, and when that was heard. */
export interface RunSpend extends RunName, Pick<RunTotals, "labels" | "parts" | "told_usd" | "final"> {
  atMs?: number;
}

/** False when it could not be recorded: the next word about the run makes up for it. */
export function recordSpend(context: Context, runs: readonly RunSpend[]): boolean {
  const workspace = spenderOf(context);
  if (workspace === undefined || runs.length === 0) return true;
  try {
    context.ledger.recordAll(runs.map(({ atMs = Date.now(), ...run }) => ({ totals: { ...run, workspace }, atMs })));
    return true;
  } catch (error) {
    const { code, message } = toMidwatchError(error);
    // Once a day, whoever meets it.
    const id = placeId("ledger", code, iso().slice(0, 10));
    audit(context, [{ type: "error", id, content: `What agents cost cannot be recorded: ${message}`, data: { code } }]);
    return false;
  }
}

/** This workspace in the ledger; undefined for one that is not this user's, or that only a keeper above us vouches for. */
export function spenderOf({ trust, layout }: Pick<Context, "trust" | "layout">): RunTotals["workspace"] | undefined {
  const { id } = trust.ownership;
  return id === undefined ? undefined : { id, project: dirname(layout.root) };
}
