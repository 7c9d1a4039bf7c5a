/**
 * What a person said of budgets, in the state folder: outside of every project, so that no agent and no repository says it for them. One
 * record for each workspace, one for all of them, and one for each fleet.
 */
import type { Reach } from "../core/config/budget.ts";
import { MidwatchError } from "../core/errors.ts";
import { isFields } from "../core/json.ts";
import { takeLock } from "../disk/lock.ts";
import { sha256Of } from "../trust/config-trust.ts";
import type { Context } from "../workspace/context.ts";
import type { SetEntry } from "./in-force.ts";

/** budgets/<SHA-256 of whose they are>.json */
interface BudgetRecord {
  v: 1;
  reach: Reach;
  /** The folder of the workspace: the record goes a month after it. */
  path?: string;
  set: SetEntry[];
}

const WAIT_MS = 5000;

export function readSet(context: Context, reach: Reach): SetEntry[] {
  const { state } = context.trust;
  const name = nameOf(context, reach);
  const record = state.read<BudgetRecord>("budgets", name);
  // A limit that cannot be read is not no limit.
  if (record === undefined ? state.has("budgets", name) : !isFields(record) || !Array.isArray(record.set))
    throw new MidwatchError("NO_STATE_FOLDER", `The budgets in ${state.folder("budgets")} cannot be read.`, {
      hint: "`midwatch budget set` writes them anew, once the damaged file or the folder's rights are mended.",
    });
  return record?.set ?? [];
}

/** Takes the place of what was said of the same period and label. */
export async function writeSet(context: Context, reach: Reach, entry: SetEntry): Promise<void> {
  const { state } = context.trust;
  const name = nameOf(context, reach);
  // Two commands at once: neither takes back what the other has said.
  using lock = await takeLock(state.place("budgets.lock"), WAIT_MS);
  if (lock === undefined)
    throw new MidwatchError("LOCK_BUSY", "Another command is writing budgets.", { hint: "Try again." });
  const others = readSet(context, reach).filter((one) => one.label !== entry.label || one.period !== entry.period);
  const set = [...others, entry];
  const place = reach === "workspace" ? { path: context.layout.root } : {};
  state.write("budgets", name, { v: 1, reach, ...place, set } satisfies BudgetRecord);
}

function nameOf({ layout, config }: Context, reach: Reach): string {
  const of = { workspace: layout.root, user: "", fleet: config.nats_fleet }[reach];
  return sha256Of(`budget ${reach} ${of}`);
}
